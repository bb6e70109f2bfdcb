// Many bodies in one PTX module and one launch: a `.func` for each, and a kernel in which block
// i calls function i with row i of a table, which holds the values of the free symbols.
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstring>

#include "lib/bpf2ptx/emit/body.h"
#include "lib/bpf2ptx/emit/emit.h"
#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/lower/lower.h"
#include "tests/tools/machines.h"

namespace egpu::bpf::run {
namespace {

// The bodies of all programs: lowered into one module, which is optimised and emitted once.
Result<std::vector<Body>> bodies_of(const std::vector<Prepared> &programs, const std::string &arch,
                                    int opt_level) {
  llvm::LLVMContext context;
  llvm::Module module("batch", context);
  std::vector<Body> bodies;
  auto translated = guarded([&]() -> Result<Ok> {
    for (size_t i = 0; i < programs.size(); ++i) {
      const Prepared &p = programs[i];
      if (auto done = lower(p.program, p.object, p.facts, &module); !done) return done;
      module.getFunction("prog")->setName(format("prog_{}", i));
    }
    if (auto done = optimize(&module, arch, opt_level); !done) return done;
    TRY(std::string ptx, emit_ptx(&module, arch));
    constexpr const char *kFunction = ".visible .func ";
    for (size_t at = ptx.find(kFunction); at != std::string::npos;) {
      size_t next = ptx.find(kFunction, at + 1);
      TRY(Body body, make_body(ptx.substr(at, next - at)));
      bodies.push_back(std::move(body));
      at = next;
    }
    return Ok{};
  });
  if (!translated) return std::move(translated).error();
  if (bodies.size() != programs.size()) return Error{"internal: LLVM's functions were not told apart"};
  return bodies;
}

bool is_map_address(const std::string &symbol) { return symbol.starts_with("egpu_map_"); }

// One function: reads its maps' addresses from the row, whose word m is map m's.
std::string function_text(const Body &body, size_t number) {
  std::string text = format(".func prog_{} (.param .b64 row)\n{\n\t.reg .b64 %row;\n", number) +
                     "\tld.param.b64 %row, [row];\n";
  for (const std::string &symbol : body.symbols) {
    bool address = is_map_address(symbol);
    text += format("\t.reg .{} {};\n", address ? "b64" : "b32", symbol);
    if (address)
      text += format("\tld.global.b64 {}, [%row+{}];\n", symbol,
                     8 * std::stoul(symbol.substr(std::strlen("egpu_map_"))));
    else
      text += format("\tmov.b32 {}, 0;\n", symbol);
  }
  return text + "\t{\n" + body.text + "\t}\n\tret;\n}\n";
}

// Calls function %i of [begin, end).
std::string dispatch(size_t begin, size_t end) {
  if (end - begin == 1)
    return format("\t{\n\t.param .b64 a;\n\tst.param.b64 [a], %row;\n\tcall prog_{}, (a);\n\t}\n\tret;\n",
                  begin);
  size_t middle = begin + (end - begin) / 2;
  return format("\tsetp.ge.u32 %p, %i, {};\n\t@%p bra from_{};\n", middle, middle) + dispatch(begin, middle) +
         format("from_{}:\n", middle) + dispatch(middle, end);
}

std::string module_text(const std::vector<Body> &bodies, const std::string &arch, uint64_t row_bytes) {
  std::string text = ".version 7.8\n.target " + arch + "\n.address_size 64\n";
  for (size_t i = 0; i < bodies.size(); ++i) text += function_text(bodies[i], i);
  text +=
      ".visible .entry batch(.param .b64 table)\n{\n\t.reg .b32 %i;\n\t.reg .b64 %row;\n\t.reg .pred %p;\n"
      "\tld.param.b64 %row, [table];\n\tmov.u32 %i, %ctaid.x;\n" +
      format("\tmad.wide.u32 %row, %i, {}, %row;\n", row_bytes) + dispatch(0, bodies.size()) + "}\n";
  return text;
}

}  // namespace

std::vector<uint8_t> initial_block(const MapSpec &map) {
  std::vector<uint8_t> block(map::block_bytes(map.shape, 1));
  if (!map.initial.empty())
    std::memcpy(block.data() + map::values_offset(map.shape), map.initial.data(), map.initial.size());
  return block;
}

Result<std::vector<Outcome>> run_on_device(const std::vector<Prepared> &programs, Device *device,
                                           int opt_level) {
  if (programs.empty()) return std::vector<Outcome>{};
  TRY(std::vector<Body> bodies, bodies_of(programs, device->arch(), opt_level));
  size_t row_words = 0;
  for (const Prepared &p : programs) row_words = std::max(row_words, p.object.maps.size());
  std::vector<uint64_t> table;
  for (const Prepared &p : programs) {
    size_t begin = table.size();
    for (const MapSpec &map : p.object.maps) {
      // Exactly as long as the values are, so that a simulator sees every step outside.
      uint64_t size_bytes = map.shape.type == map::Type::array && map.shape.max_entries == 1
                                ? map.shape.value_size
                                : map::block_bytes(map.shape, 1);
      TRY(uint64_t address, device->allocate(size_bytes));
      std::vector<uint8_t> block = initial_block(map);
      if (!map.initial.empty()) {
        TRY(Ok written, device->write(address, block.data(), size_bytes));
        (void)written;
      }
      table.push_back(address);
    }
    table.resize(begin + row_words);
  }
  TRY(uint64_t table_address, device->allocate(8 * table.size()));
  TRY(Ok written, device->write(table_address, table.data(), 8 * table.size()));
  (void)written;
  TRY(Ok done, device->launch(module_text(bodies, device->arch(), 8 * row_words),
                              static_cast<uint32_t>(programs.size()), table_address));
  (void)done;
  std::vector<Outcome> outcomes;
  for (size_t i = 0; i < programs.size(); ++i) {
    const Prepared &p = programs[i];
    const uint64_t *row = &table[i * row_words];
    Outcome outcome;
    TRY(Ok got, device->read(row[p.result_map], &outcome.r0, 8));
    (void)got;
    if (p.memory_map >= 0) {
      outcome.memory.resize(p.object.maps[static_cast<size_t>(p.memory_map)].shape.value_size);
      TRY(Ok read, device->read(row[p.memory_map], outcome.memory.data(), outcome.memory.size()));
      (void)read;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

}  // namespace egpu::bpf::run
