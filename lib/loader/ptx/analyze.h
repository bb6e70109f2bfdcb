// What a module's functions use and where the probes' sites in its kernels are.
//
// plan() and patch() both start here: the analysis depends on the text and the probes only,
// so it gives the same sites both times.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lib/loader/ptx/access.h"
#include "lib/loader/ptx/module.h"
#include "lib/loader/ptx/patch.h"

namespace egpu::ptx {

// How a patched module gets at a variable of the original.
enum class VariableUse : uint8_t {
  by_address,  // .global, .const: a register that holds the original's address takes its name
  copied,      // string constants of the compiler, which the driver need not find by name
  kept,        // .shared, .local: part of each launch
  opaque,      // texture, sampler and surface references: no address
};

// A call, or a statement that reads a variable of the module.
struct Reference {
  uint32_t token = 0;
  uint32_t index = 0;  // into Module::functions or variables
};

// What one function does, whatever kernel calls it.
struct FunctionFacts {
  std::vector<Reference> calls;      // of functions with a body in this module
  std::set<uint32_t> declared;       // called functions without a body (vprintf, malloc)
  std::set<uint32_t> variables;      // of the module
  std::vector<Reference> addresses;  // tokens that name a by_address variable
  uint64_t shared_bytes = 0;         // static, declared in the body
  bool exits = false;                // holds `exit`
  std::string problem;               // why it cannot be patched or copied; empty: it can
};

// A place in a function where bodies go: before a statement.
struct Point {
  uint32_t statement = 0;  // index; body.size(): before the closing brace
  EventKind kind = EventKind::entry;
  std::vector<int> probes;      // in the order in which they run
  std::vector<uint32_t> sites;  // ids, one for each
  Access access;                // of a memory event
  bool is_branch = false;
};

struct FunctionUse {
  uint32_t function = 0;
  std::vector<Point> points;  // in text order
  bool cloned = false;        // a .func with points, or that calls one: one copy per kernel
};

struct KernelUse {
  uint32_t function = 0;
  KernelPlan plan;
  std::vector<int> probes;             // whose kernel glob matches
  std::vector<FunctionUse> functions;  // the entry and all it calls, in text order
  std::set<uint32_t> variables;        // of the module, by any of them
  std::set<std::string> globals;       // names of the by_address ones

  const FunctionUse *use_of(uint32_t index) const {
    for (const FunctionUse &use : functions)
      if (use.function == index) return &use;
    return nullptr;
  }
};

struct Analysis {
  Module module;
  std::map<std::string_view, uint32_t> function_index, variable_index;
  std::map<uint32_t, FunctionFacts> facts;  // of every function with a body
  std::vector<KernelUse> kernels;           // every .entry, in text order
};

Result<Analysis> analyze(std::string_view text, const std::vector<Probe> &probes, uint32_t first_site_id);

VariableUse use_of(const Variable &variable);

/// Facts of one function.
FunctionFacts facts_of(const Analysis &analysis, const Function &function);

/// The points of one function of a kernel, without site ids; sets *problem if there is a
/// matching statement that cannot be read.
std::vector<Point> find_points(const Module &module, const Function &function,
                               const std::vector<Probe> &probes, const std::vector<int> &matched,
                               std::string *problem);

/// Index of the first statement that is no declaration; body.size() if there is none.
uint32_t first_statement(const Module &module, const Function &function);

/// "vecadd.cu:12" of the .loc before the statement (or the first after it), else "ptx:LINE".
std::string where(const Module &module, const Function &function, uint32_t statement);

}  // namespace egpu::ptx
