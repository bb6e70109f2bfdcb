// random_ptx ROWS: runs random programs on the GPU that libcuda.so.1 gives, prints a line for each:
// its number, a hash of its text, a hash of its results, and a byte for each result in order, of its
// hash, which shows the first that differs between two GPUs.
//   --seed S --count N --part K/N   other programs; the K-th of N parts
//   --compare FILE                  compares with these lines instead; exit status 1 if any differs
//   --known FILE                    with --compare: numbers of programs that may differ
//   --dump NUMBER                   prints one program's inputs, rows and their results, thread by thread
//   --gpu                           prints the GPU's name; exit status 77 where there is none
//   --ptx                           prints the module, runs nothing
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/sim-machine/vectors/gpu.h"
#include "tests/sim-machine/vectors/hash.h"
#include "tests/sim-machine/vectors/part.h"
#include "tests/sim-machine/vectors/program.h"

namespace egpu::vectors {
namespace {

constexpr size_t kProgramsPerModule = 20;

struct Options {
  std::string rows, compare, known;
  uint64_t seed = 1;
  size_t count = 2000, dump = SIZE_MAX;
  Part part;
  bool ptx = false, gpu = false;
};

std::string hex(uint64_t value, int digits) {
  char text[20];
  std::snprintf(text, sizeof text, "%0*llx", digits, static_cast<unsigned long long>(value));
  return text;
}

// Of the index-th result or input.
std::vector<uint64_t> of_threads(const std::vector<uint64_t> &values, size_t index) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(index * kProgramThreads);
  return {begin, begin + kProgramThreads};
}

std::string line_of(size_t number, const Program &program, const std::vector<uint64_t> &results) {
  const uint64_t text = hash(program.inputs, hash(program.text));
  std::string line = std::to_string(number) + " " + hex(text & 0xFFFFFFFF, 8) + " " +
                     hex(hash(results) & 0xFFFFFFFF, 8) + " ";
  for (size_t i = 0; i < program.stored.size(); ++i) line += hex(hash(of_threads(results, i)) & 0xFF, 2);
  return line;
}

// What differs between a line recorded and one computed, of the same program.
std::string difference(const Program &program, const std::string &recorded, const std::string &got) {
  if (recorded == got) return "";
  std::istringstream a(recorded), b(got);
  std::string number, text[2], results, bytes[2];
  a >> number >> text[0] >> results >> bytes[0];
  b >> number >> text[1] >> results >> bytes[1];
  const std::string name = program.name + ": ";
  if (text[0] != text[1]) return name + "another program was recorded; run tests/gpu/random_ptx.sh\n";
  const auto [at, end] = std::mismatch(bytes[0].begin(), bytes[0].end(), bytes[1].begin(), bytes[1].end());
  const size_t row = static_cast<size_t>(at - bytes[0].begin()) / 2;
  return name +
         (row < program.stored.size() ? "result " + std::to_string(row) + ": " + program.stored[row]
                                      : "a result") +
         " differs\n";
}

void print_threads(const std::vector<uint64_t> &values, size_t index) {
  for (uint64_t value : of_threads(values, index)) std::printf(" %s", hex(value, 1).c_str());
  std::puts("");
}

void dump(const Program &program, const std::vector<uint64_t> &results) {
  for (size_t i = 0; i < program.inputs.size() / kProgramThreads; ++i) {
    std::printf("i%zu\n", i);
    print_threads(program.inputs, i);
  }
  for (size_t i = 0; i < program.stored.size(); ++i) {
    std::printf("%zu %s\n", i, program.stored[i].c_str());
    print_threads(results, i);
  }
}

template <class Use>
Result<Ok> run_programs(const std::vector<Row> &rows, const Options &options, size_t begin, size_t end,
                        Use &&use) {
  TRY(std::unique_ptr<Gpu> gpu, Gpu::open());
  for (; begin < end; begin += kProgramsPerModule) {
    std::vector<Program> programs;
    const size_t last = std::min(begin + kProgramsPerModule, end);
    for (size_t number = begin; number < last; ++number)
      programs.push_back(make_program(rows, options.seed, number));
    TRY(Ok loaded, gpu->load(module_of(programs)));
    (void)loaded;
    for (size_t i = 0; i < programs.size(); ++i) {
      const Program &program = programs[i];
      TRY(std::vector<uint64_t> results,
          gpu->run(program.name, kProgramThreads, program.inputs, program.stored.size() * kProgramThreads));
      use(begin + i, program, results);
    }
  }
  return Ok{};
}

// The numbers of a file; its lines that begin with # are comments.
Result<std::set<size_t>> read_numbers(const std::string &path) {
  std::set<size_t> numbers;
  std::ifstream file(path);
  if (!path.empty() && !file) return Error{path + ": cannot be read"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    for (size_t number; words >> number;) numbers.insert(number);
  }
  return numbers;
}

Result<Ok> compare(const std::vector<Row> &rows, const Options &options, size_t begin, size_t end) {
  std::ifstream file(options.compare);
  if (!file) return Error{options.compare + ": cannot be read"};
  std::vector<std::string> recorded;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with("#")) recorded.push_back(line);
  if (recorded.size() < end) return Error{options.compare + ": holds fewer programs"};
  TRY(const std::set<size_t> known, read_numbers(options.known));
  size_t wrong = 0;
  TRY(Ok done, run_programs(rows, options, begin, end,
                            [&](size_t number, const Program &program, const std::vector<uint64_t> &results) {
                              const std::string text =
                                  difference(program, recorded[number], line_of(number, program, results));
                              if (text.empty() || known.contains(number)) return;
                              std::fputs(text.c_str(), stdout);
                              ++wrong;
                            }));
  (void)done;
  std::printf("%zu programs, %zu differ\n", end - begin, wrong);
  return wrong ? Result<Ok>(Error{"results differ from " + options.compare}) : Ok{};
}

Result<Ok> run(const Options &options) {
  TRY(std::vector<Row> rows, read_table(options.rows));
  rows.resize(rows_of_programs(rows));
  auto [begin, end] = options.part.of(options.count);
  if (options.dump != SIZE_MAX) std::tie(begin, end) = std::pair(options.dump, options.dump + 1);
  if (options.ptx) {
    std::vector<Program> programs;
    for (; begin < end; ++begin) programs.push_back(make_program(rows, options.seed, begin));
    std::fputs(module_of(programs).c_str(), stdout);
    return Ok{};
  }
  if (!options.compare.empty()) return compare(rows, options, begin, end);
  return run_programs(rows, options, begin, end,
                      [&](size_t number, const Program &program, const std::vector<uint64_t> &results) {
                        if (options.dump != SIZE_MAX) return dump(program, results);
                        std::puts(line_of(number, program, results).c_str());
                      });
}

bool read_options(int count, char **arguments, Options *options) {
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const char *value = i + 1 < count ? arguments[i + 1] : nullptr;
    if (argument == "--ptx")
      options->ptx = true;
    else if (argument == "--gpu")
      options->gpu = true;
    else if (!argument.starts_with("--") && options->rows.empty())
      options->rows = argument;
    else if (!value)
      return false;
    else if (argument == "--seed" && ++i)
      options->seed = std::strtoull(value, nullptr, 10);
    else if (argument == "--count" && ++i)
      options->count = std::strtoull(value, nullptr, 10);
    else if (argument == "--dump" && ++i)
      options->dump = std::strtoull(value, nullptr, 10);
    else if (argument == "--compare" && ++i)
      options->compare = value;
    else if (argument == "--known" && ++i)
      options->known = value;
    else if (argument != "--part" || !read_part(arguments[++i], &options->part))
      return false;
  }
  return !options->rows.empty();
}

}  // namespace
}  // namespace egpu::vectors

int main(int count, char **arguments) {
  egpu::vectors::Options options;
  if (!egpu::vectors::read_options(count, arguments, &options)) {
    std::fputs(
        "usage: random_ptx ROWS [--seed S] [--count N] [--part K/N]\n"
        "                       [--compare FILE [--known FILE] | --dump NUMBER | --gpu | --ptx]\n",
        stderr);
    return 2;
  }
  if (options.gpu) return egpu::vectors::print_gpu();
  const egpu::Result<egpu::Ok> done = egpu::vectors::run(options);
  if (done) return 0;
  std::fprintf(stderr, "random_ptx: error: %s\n", done.error().message.c_str());
  return 1;
}
