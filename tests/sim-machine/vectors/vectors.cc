// vectors ROWS: runs the table's rows on the GPU that libcuda.so.1 gives, prints the results.
//   --part K/N          only the K-th of N parts
//   --compare RESULTS   compares them instead; exit status 1 if anything differs
//   --gpu               prints the GPU's name; exit status 77 where there is none
//   --ptx               prints the module of the rows, runs nothing
//   --only TEXT         only rows whose text holds TEXT
#include <cstdio>
#include <cstring>

#include "tests/sim-machine/vectors/gpu.h"
#include "tests/sim-machine/vectors/module.h"
#include "tests/sim-machine/vectors/part.h"
#include "tests/sim-machine/vectors/results.h"

namespace egpu::vectors {
namespace {

constexpr size_t kRowsPerModule = 128;

Result<Values> run_row(Gpu &gpu, const Row &row, size_t index) {
  std::vector<uint64_t> inputs;
  for (const std::vector<uint64_t> &list : row.inputs) inputs.insert(inputs.end(), list.begin(), list.end());
  Result<Values> values =
      gpu.run(kernel_name(index), row.threads(), inputs, row.results.size() * row.threads());
  if (!values) return std::move(values).error().in(row.text);
  return values;
}

template <class Use>
Result<Ok> run_rows(Gpu &gpu, const std::vector<Row> &rows, Use &&use) {
  for (size_t begin = 0; begin < rows.size(); begin += kRowsPerModule) {
    const size_t end = std::min(begin + kRowsPerModule, rows.size());
    TRY(Ok loaded, gpu.load(module_of(rows, begin, end)));
    (void)loaded;
    for (size_t i = begin; i < end; ++i) {
      TRY(Values values, run_row(gpu, rows[i], i));
      TRY(Ok used, use(rows[i], values));
      (void)used;
    }
  }
  return Ok{};
}

Result<Ok> print(Gpu &gpu, const std::vector<Row> &rows) {
  return run_rows(gpu, rows, [](const Row &row, const Values &values) -> Result<Ok> {
    std::puts(to_line(row, values).c_str());
    return Ok{};
  });
}

Result<Ok> compare(Gpu &gpu, const std::vector<Row> &rows, const std::string &path) {
  TRY(auto recorded, read_results(path));
  size_t wrong = 0;
  TRY(Ok compared, run_rows(gpu, rows, [&](const Row &row, const Values &got) -> Result<Ok> {
        Result<Values> expected = from_line(row, recorded[row.text]);
        if (!expected) return std::move(expected).error().in(row.text);
        const std::string text = differences(row, *expected, got);
        std::fputs(text.c_str(), stdout);
        wrong += text.empty() ? 0 : 1;
        return Ok{};
      }));
  (void)compared;
  std::printf("%zu rows, %zu differ\n", rows.size(), wrong);
  return wrong ? Result<Ok>(Error{"results differ from " + path}) : Ok{};
}

struct Options {
  std::string rows, compare, only;
  Part part;
  bool ptx = false, gpu = false;
};

bool read_options(int count, char **arguments, Options *options) {
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const bool has_value = i + 1 < count;
    if (argument == "--ptx")
      options->ptx = true;
    else if (argument == "--gpu")
      options->gpu = true;
    else if (argument == "--compare" && has_value)
      options->compare = arguments[++i];
    else if (argument == "--only" && has_value)
      options->only = arguments[++i];
    else if (argument == "--part" && has_value && read_part(arguments[i + 1], &options->part))
      ++i;
    else if (options->rows.empty())
      options->rows = argument;
    else
      return false;
  }
  return !options->rows.empty();
}

Result<Ok> run(const Options &options) {
  TRY(std::vector<Row> rows, read_table(options.rows));
  std::erase_if(rows, [&](const Row &row) { return row.text.find(options.only) == row.text.npos; });
  const auto [begin, end] = options.part.of(rows.size());
  rows = std::vector<Row>(rows.begin() + static_cast<std::ptrdiff_t>(begin),
                          rows.begin() + static_cast<std::ptrdiff_t>(end));
  if (options.ptx) {
    std::fputs(module_of(rows, 0, rows.size()).c_str(), stdout);
    return Ok{};
  }
  TRY(std::unique_ptr<Gpu> gpu, Gpu::open());
  return options.compare.empty() ? print(*gpu, rows) : compare(*gpu, rows, options.compare);
}

}  // namespace
}  // namespace egpu::vectors

int main(int count, char **arguments) {
  egpu::vectors::Options options;
  if (!egpu::vectors::read_options(count, arguments, &options)) {
    std::fputs("usage: vectors ROWS [--compare RESULTS | --gpu | --ptx] [--only TEXT] [--part K/N]\n",
               stderr);
    return 2;
  }
  if (options.gpu) return egpu::vectors::print_gpu();
  const egpu::Result<egpu::Ok> done = egpu::vectors::run(options);
  if (done) return 0;
  std::fprintf(stderr, "vectors: error: %s\n", done.error().message.c_str());
  return 1;
}
