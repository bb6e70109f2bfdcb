// Random straight-line programs made of the table's rows, each result an operand of later rows.
//
// A program is a kernel for one warp, determined by seed, number and table. It loads its inputs,
// executes rows (some under predicates) and stores every result, so that two GPUs' results differ
// first at the row that one of them computes differently. Approximations are left out, and NaNs get
// one bit pattern after each row, since the ISA leaves some of their bits open. Between rows a value is
// hidden from the compiler, so that what is compared are instructions.
#pragma once
#include <string>
#include <vector>

#include "tests/sim-machine/vectors/table.h"

namespace egpu::vectors {

inline constexpr size_t kProgramThreads = 32, kProgramRows = 40;

struct Program {
  std::string name, text;           // of the kernel; parameters as gpu.h says
  std::vector<uint64_t> inputs;     // kProgramThreads for each input
  std::vector<std::string> stored;  // what each result is of: the row's PTX
};

/// How many of the table's rows programs are made of: those at its end that are to stand alone are in none,
/// and change none.
size_t rows_of_programs(const std::vector<Row> &rows);

/// Of rows_of_programs() rows.
Program make_program(const std::vector<Row> &rows, uint64_t seed, size_t number);

/// The programs' module.
std::string module_of(const std::vector<Program> &programs);

}  // namespace egpu::vectors
