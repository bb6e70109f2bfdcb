// corpus DIRECTORY: runs the kernels of tests/ptx/corpus on the GPU that libcuda.so.1 gives, and prints a
// line for each: file, kernel, and a hash of all its arrays afterwards. Numbers are small and whole, so that
// sums are exact in any order.
//   --compare FILE    compares with these lines instead; exit status 1 if any differs
//   --gpu             prints the GPU's name; exit status 77 where there is none
//
// Not run: calls_sm_90_G's `says`, which prints, and triton_matmul_sm_90, which needs wgmma.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/sim-machine/vectors/gpu.h"
#include "tests/sim-machine/vectors/hash.h"

namespace egpu::vectors {
namespace {

struct Edit {
  std::string from, to;
};

struct Row {
  std::string file;  // without .ptx
  Launch launch;
  std::vector<Parameter> parameters;
  std::vector<Edit> edits = {};  // of the text, before it is compiled
};

template <class T>
Parameter value(T number) {
  Parameter parameter;
  parameter.bytes.resize(sizeof number);
  std::memcpy(parameter.bytes.data(), &number, sizeof number);
  return parameter;
}

template <class T>
Parameter array(const std::vector<T> &numbers) {
  Parameter parameter{std::vector<uint8_t>(numbers.size() * sizeof(T)), true};
  std::memcpy(parameter.bytes.data(), numbers.data(), parameter.bytes.size());
  return parameter;
}

// `count` whole numbers from `low` to `high`, of that seed.
template <class T>
Parameter numbers(size_t count, int low, int high, uint64_t seed) {
  std::vector<T> all;
  for (size_t i = 0; i < count; ++i)
    all.push_back(
        static_cast<T>(low + static_cast<int>(next_random(&seed) % static_cast<uint64_t>(high - low + 1))));
  return array(all);
}

// Halves from 0 to 7.
Parameter halves(size_t count, uint64_t seed) {
  constexpr uint16_t kBits[] = {0, 0x3C00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700};
  std::vector<uint16_t> all;
  for (size_t i = 0; i < count; ++i) all.push_back(kBits[next_random(&seed) % 8]);
  return array(all);
}

Parameter zeros(size_t count_of_words) { return array(std::vector<uint32_t>(count_of_words)); }

struct Pair {
  int a = 5;
  double b = 6.5;
  char c[5] = {1, 2, 3, 4, 5};
};
struct Bytes {
  char c[11] = {10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110};
};

std::vector<Row> rows() {
  const Parameter null = value<uint64_t>(0);
  // cuModuleLoadData knows PTX by its first line.
  const Edit no_heading{
      "/* Written by hand: what compilers rarely write, all of it legal. ; { } */\n# 1 \"hand.s\"\n", ""};
  const Parameter negative{{0xFE, 0xFF, 0xFF, 0xFF, 1, 2}};  // or it traps
  // Compiled for a newer GPU; the code needs nothing of it.
  const Edit any_gpu{".target sm_120", ".target sm_90"};
  std::string ones = "scale[64] = {0, 0, 128, 63";
  for (int i = 1; i < 16; ++i) ones += ", 0, 0, 128, 63";
  const Edit scale{"scale[64]", ones + "}"};
  std::vector<Row> all = {
      {"calls_sm_90_G",
       {"structs", {1, 1, 1}, {40, 1, 1}},
       {value(Pair{}), value(Bytes{}), zeros(40), value<int16_t>(-300), value<int8_t>(-7)}},
      {"calls_sm_90_G", {"callers", {1, 1, 1}, {40, 1, 1}}, {numbers<int32_t>(40, 0, 9, 1), zeros(40)}},
      {"calls_sm_90_G", {"indirect"}, {zeros(1), value(1)}},
      {"diverge_sm_75",
       {"collatz", {9, 1, 1}, {211, 1, 1}},
       {numbers<uint32_t>(1800, 1, 100000, 2), zeros(1800), value(1800)}},
      {"diverge_sm_75", {"predicated", {1, 1, 1}, {32, 1, 1}}, {zeros(32), value(20)}},
      {"diverge_sm_75", {"spin", {1, 1, 1}, {64, 1, 1}}, {array(std::vector<int32_t>{1})}},
      {"hand", {"bare", {3, 1, 1}, {64, 1, 1}}, {}, {no_heading}},
      {"hand",
       {"spaces", {1, 1, 1}, {32, 1, 1}, 16},
       {numbers<float>(8, -50, 50, 3), negative, value<uint16_t>(7), value<uint8_t>(3)},
       {no_heading}},
      {"matmul_sm_120",
       {"matmul", {4, 4, 1}, {16, 16, 1}},
       {numbers<float>(4096, -8, 8, 4), numbers<float>(4096, -8, 8, 5), zeros(4096), value(64)},
       {any_gpu, scale}},
      {"reduce_sm_80_lineinfo",
       {"block_sum", {7, 1, 1}, {256, 1, 1}},
       {numbers<int32_t>(1600, -1000, 1000, 6), zeros(1), value(1600)}},
      {"reduce_sm_80_lineinfo",
       {"dynamic_sum", {13, 1, 1}, {128, 1, 1}, 512},
       {numbers<int32_t>(1600, -1000, 1000, 7), zeros(2), value(1600)}},
      {"reduce_sm_80_lineinfo",
       {"early", {5, 1, 1}, {96, 1, 1}},
       {numbers<int32_t>(450, -3, 9, 8), zeros(450), value(450)}},
      {"saxpy_clang_19",
       {"saxpy", {4, 1, 1}, {256, 1, 1}},
       {value(3.0f), numbers<float>(2500, -6, 20, 9), numbers<float>(2500, -9, 9, 10), value(2500)}},
      // Lane 0 alone: the others' addresses in shared memory are not aligned.
      {"triton",
       {"add_kernel", {1, 1, 1}, {128, 1, 1}, 512},
       {numbers<float>(16, 0, 9, 11), numbers<float>(16, 0, 9, 12), zeros(16), value(4), null}},
      {"triton_add_sm_75",
       {"add", {2, 1, 1}, {128, 1, 1}},
       {numbers<float>(1024, -99, 99, 13), numbers<float>(1024, -99, 99, 14), zeros(1024), value(1001), null,
        null}},
      {"triton_add_sm_90",
       {"add", {2, 1, 1}, {128, 1, 1}},
       {numbers<float>(1024, -99, 99, 13), numbers<float>(1024, -99, 99, 14), zeros(1024), value(1001), null,
        null}},
      {"triton_matmul_sm_80",
       {"matmul", {2, 2, 1}, {128, 1, 1}, 16384},
       {halves(128 * 96, 15), halves(96 * 128, 16), zeros(128 * 128), value(128), value(96), null, null}},
      {"triton_row_stats_sm_90",
       {"row_stats", {7, 1, 1}, {128, 1, 1}, 32},
       {numbers<int32_t>(7 * 500, -999, 999, 17), zeros(7), zeros(7), zeros(7), value(500), null, null}},
      {"triton_running_sum_sm_80",
       {"running_sum", {4, 1, 1}, {128, 1, 1}, 2048},
       {numbers<int32_t>(1024, 0, 99, 18), zeros(1024), zeros(16), null, null}},
      {"vecadd_sm_90",
       {"vecadd", {5, 1, 1}, {211, 1, 1}},
       {numbers<float>(1000, -99, 99, 19), numbers<float>(1000, -99, 99, 20), zeros(1000), value(1000)}},
      {"vecadd_sm_90", {"nothing", {3, 2, 1}, {32, 4, 2}}, {}},
      {"vecadd_sm_90",
       {"vector_loads", {1, 1, 1}, {32, 1, 1}},
       {numbers<float>(128, -99, 99, 21), zeros(128), numbers<int32_t>(33, 0, 99, 22)}},
      {"vecadd_sm_90",
       {"_ZN2ns6vecaddIfLi4EEEvPKT_S3_PS1_i", {5, 1, 1}, {211, 1, 1}},
       {numbers<float>(1000, -99, 99, 23), numbers<float>(1000, -99, 99, 24), zeros(1000), value(1000)}},
      {"vecadd_sm_90",
       {"_ZN2ns6vecaddIdLi1EEEvPKT_S3_PS1_i", {5, 1, 1}, {211, 1, 1}},
       {numbers<double>(1000, -99, 99, 25), numbers<double>(1000, -99, 99, 26), zeros(2000), value(1000)}},
  };
  for (int k = 0; k <= 8; ++k)
    all.push_back(
        {"diverge_sm_75", {"choose", {1, 1, 1}, {32, 1, 1}}, {numbers<int32_t>(10, 1, 999, 27), value(k)}});
  return all;
}

Result<std::string> text_of(const std::string &directory, const Row &row) {
  const std::string path = directory + "/" + row.file + ".ptx";
  std::ifstream file(path);
  if (!file) return Error{path + ": cannot be read"};
  std::stringstream stream;
  stream << file.rdbuf();
  std::string text = stream.str();
  for (const auto &[from, to] : row.edits) {
    const size_t at = text.find(from);
    if (at == std::string::npos) return Error{path + ": has no '" + from + "'"};
    text.replace(at, from.size(), to);
  }
  return text;
}

Result<std::string> line_of(Gpu *gpu, const std::string &directory, Row row) {
  TRY(const std::string text, text_of(directory, row));
  if (auto loaded = gpu->load(text); !loaded) return Error{row.file + ": " + loaded.error().message};
  if (auto done = gpu->launch(row.launch, &row.parameters); !done)
    return Error{row.file + ": " + done.error().message};
  uint64_t sum = kHashOfNothing;
  for (const Parameter &parameter : row.parameters)
    if (parameter.is_array)
      sum = hash({reinterpret_cast<const char *>(parameter.bytes.data()), parameter.bytes.size()}, sum);
  std::ostringstream line;
  line << row.file << ' ' << row.launch.kernel << ' ' << std::hex << sum;
  return line.str();
}

// How many lines differ from the recorded ones.
Result<int> run(const std::string &directory, const std::string &recorded) {
  std::ifstream file(recorded);
  if (!recorded.empty() && !file) return Error{recorded + ": cannot be read"};
  TRY(std::unique_ptr<Gpu> gpu, Gpu::open());
  if (recorded.empty()) std::printf("# %s; written by tests/gpu/corpus.sh\n", gpu->name().c_str());
  int compared = 0, wrong = 0;
  for (Row &row : rows()) {
    TRY(const std::string line, line_of(gpu.get(), directory, std::move(row)));
    if (recorded.empty()) {
      std::puts(line.c_str());
      continue;
    }
    std::string expected;
    while (std::getline(file, expected) && expected.starts_with("#")) {
    }
    ++compared;
    if (line == expected) continue;
    std::printf("%s\n  recorded: %s\n", line.c_str(), expected.c_str());
    ++wrong;
  }
  if (!recorded.empty()) std::printf("%d kernels, %d differ\n", compared, wrong);
  return wrong;
}

}  // namespace
}  // namespace egpu::vectors

int main(int count, char **arguments) {
  const std::string option = count > 2 ? arguments[2] : "";
  if (count == 3 && option == "--gpu") return egpu::vectors::print_gpu();
  if (count != 2 && !(count == 4 && option == "--compare")) {
    std::fputs("usage: corpus DIRECTORY [--compare FILE | --gpu]\n", stderr);
    return 2;
  }
  egpu::Result<int> wrong = egpu::vectors::run(arguments[1], count == 4 ? arguments[3] : "");
  if (wrong) return *wrong != 0;
  std::fprintf(stderr, "corpus: error: %s\n", wrong.error().message.c_str());
  return 1;
}
