// Helpers of the machine's tests: a machine, device buffers, and launches from PTX text.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "lib/sim/machine/machine.h"

namespace egpu::sim {

inline DeviceConfig test_config(uint32_t threads = 2, uint64_t seed = 0) {
  DeviceConfig config;
  config.host_threads = threads;
  config.seed = seed;
  return config;
}

// Packs parameters as CUDA does.
class Parameters {
 public:
  template <class T>
  Parameters &add(T value, size_t align = sizeof(T)) {
    bytes_.resize((bytes_.size() + align - 1) / align * align);
    const uint8_t *at = reinterpret_cast<const uint8_t *>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
    return *this;
  }
  std::vector<uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

template <class T>
class Buffer {
 public:
  Buffer(Machine &machine, size_t count)
      : machine_(machine), count_(count), address_(machine.memory().allocate(count * sizeof(T))) {
    std::memset(data(), 0, count * sizeof(T));
  }
  ~Buffer() { machine_.memory().free(address_); }
  T *data() { return reinterpret_cast<T *>(address_); }
  T &operator[](size_t i) { return data()[i]; }
  uint64_t address() const { return address_; }
  size_t size() const { return count_; }

 private:
  Machine &machine_;
  size_t count_;
  uint64_t address_;
};

inline std::string with_header(const std::string &body) {
  return ".version 8.0\n.target sm_90\n.address_size 64\n" + body;
}

struct Outcome {
  bool ok;
  std::string error;
  Fault fault;
};

inline Outcome launch(Machine &machine, std::shared_ptr<Module> module, const std::string &kernel,
                      std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
                      const Parameters &parameters, uint32_t dynamic_shared = 0, bool cooperative = false) {
  Launch l;
  l.module = std::move(module);
  l.kernel = kernel;
  l.grid = grid;
  l.block = block;
  l.dynamic_shared_bytes = dynamic_shared;
  l.parameters = parameters.bytes();
  l.cooperative = cooperative;
  Fault fault{};
  Result<Ok> result = machine.run(l, &fault);
  return {static_cast<bool>(result), result ? "" : result.error().message, fault};
}

inline std::shared_ptr<Module> load_or_fail(Machine &machine, const std::string &ptx) {
  Result<std::shared_ptr<Module>> module = machine.load(ptx);
  EXPECT_TRUE(module) << module.error().message;
  return module ? *module : nullptr;
}

// Runs `text` as the body of a kernel over `threads` threads; %o is the address of the thread's
// own 32-bit word of out, %t its index.
inline std::vector<uint32_t> run_body(const std::string &text, uint32_t threads, uint64_t seed = 0,
                                      const std::string &outside = "") {
  auto machine = Machine::create(test_config(1, seed));
  auto module = load_or_fail(
      *machine,
      with_header(
          outside +
          ".visible .entry k(.param .u64 out) {\n.reg .b64 %o, %q; .reg .b32 %t;\nld.param.u64 %o, [out];\n"
          "mov.u32 %t, %tid.x;\nmul.wide.u32 %q, %t, 4;\nadd.u64 %o, %o, %q;\n" +
          text + "\nret;\n}\n"));
  if (!module) return {};
  Buffer<uint32_t> out(*machine, threads);
  Outcome outcome =
      launch(*machine, module, "k", {1, 1, 1}, {threads, 1, 1}, Parameters().add(out.address()));
  EXPECT_TRUE(outcome.ok) << outcome.error;
  return {out.data(), out.data() + threads};
}

inline std::string nvcc_path() {
  for (const char *path : {"/usr/local/cuda/bin/nvcc", "/usr/bin/nvcc"})
    if (std::ifstream(path).good()) return path;
  return "";
}

// PTX that nvcc makes of `source`; "" if it fails.
inline std::string compile(const std::string &source, const std::string &arch,
                           const std::string &flags = "-O3") {
  char directory[] = "/tmp/egpu-sim-XXXXXX";
  if (!mkdtemp(directory)) return "";
  std::string dir = directory, ptx;
  std::ofstream(dir + "/k.cu") << source;
  std::string command = nvcc_path() + " -w -std=c++17 -ptx -arch=" + arch + " " + flags + " -o " + dir +
                        "/k.ptx " + dir + "/k.cu 2>" + dir + "/log";
  if (std::system(command.c_str()) == 0) {
    std::ifstream in(dir + "/k.ptx");
    ptx.assign(std::istreambuf_iterator<char>(in), {});
  } else {
    std::ifstream log(dir + "/log");
    ADD_FAILURE() << std::string(std::istreambuf_iterator<char>(log), {});
  }
  std::string clean = "rm -r " + dir;
  if (std::system(clean.c_str()) != 0) return "";
  return ptx;
}

// The same, kept in the build folder: ctest runs each case in a process of its own, and nvcc takes
// seconds to start.
inline std::string compile_once(const std::string &source, const std::string &arch) {
  auto key =
      std::hash<std::string>{}(source + arch + std::to_string(std::filesystem::file_size(nvcc_path())));
  std::string path = EGPU_BINARY_DIR "/nvcc-" + std::to_string(key) + ".ptx";
  if (std::ifstream in(path); in) return {std::istreambuf_iterator<char>(in), {}};
  std::string ptx = compile(source, arch), temporary = path + std::to_string(getpid());
  if (ptx.empty()) return "";
  std::ofstream(temporary) << ptx;
  std::filesystem::rename(temporary, path);
  return ptx;
}

}  // namespace egpu::sim
