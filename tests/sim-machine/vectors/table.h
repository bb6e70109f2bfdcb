// The table of instruction forms (rows.txt): what is executed, on which inputs, with which exactness.
//
// A line is `TEXT :: RESULTS = SOURCES [:: EXACTNESS]`. TEXT is PTX on registers a, b, c (sources)
// and d, e (results). RESULTS and SOURCES are types; a source may name a list of inputs, `u32:shift`,
// else the list named for its type is used. <x|y> in TEXT stands for one row each, $1 for what the
// line's first such group became. EXACTNESS is `rel E`, `abs E` or `ulp N` for approximations, `nan`
// where the ISA leaves a NaN's bits open; several may stand, any of them suffices. `alone` there keeps a row
// out of random programs. Other lines are `list NAME = VALUE...` (hex bits) and comments (#).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "egpu/result.h"

namespace egpu::vectors {

struct Type {
  std::string name;
  unsigned bits;  // 1: a predicate, given and taken as 0 or 1
};

struct Bound {
  enum Kind { relative, absolute, ulps, any_nan } kind;
  double limit;
};

struct Row {
  std::string text;
  std::vector<Type> results, sources;
  std::vector<std::vector<uint64_t>> inputs;  // by source, then by thread; a multiple of 32 threads
  std::vector<bool> is_listed;                // by source: whether it names a list
  std::vector<Bound> bounds;                  // none: bit-exact
  bool is_alone = false;
  size_t line = 0;                            // of the table
  size_t threads() const { return inputs[0].size(); }
};

/// Error: "rows.txt:12: ...".
Result<std::vector<Row>> read_table(const std::string &path);

/// Stands for a row's inputs and types in a file of results.
uint64_t fingerprint(const Row &row);

}  // namespace egpu::vectors
