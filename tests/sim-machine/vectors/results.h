// Results of rows, as a GPU computed them, and their comparison.
//
// The file has a line `# ...` that names the GPU and one line per row:
// TEXT :: FINGERPRINT :: VALUES [VALUES]. VALUES are a result's bits for all threads, as hexadecimal
// digits without separators: one per predicate, four per 16 bits.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "tests/sim-machine/vectors/table.h"

namespace egpu::vectors {

using Values = std::vector<uint64_t>;  // by result, then by thread

std::string to_line(const Row &row, const Values &values);
/// Lines by TEXT.
Result<std::map<std::string, std::string>> read_results(const std::string &path);
/// A row's values; error if the line is not of this row and its inputs.
Result<Values> from_line(const Row &row, const std::string &line);

/// Whether a result is the expected one, up to the row's bounds.
bool is_close(const Row &row, const Type &type, uint64_t expected, uint64_t got);
/// "text: a=1 b=2: d is 3, not 4", a line for each of the first few threads that differ; "" if none does.
std::string differences(const Row &row, const Values &expected, const Values &got);

}  // namespace egpu::vectors
