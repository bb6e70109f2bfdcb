// egpu-sim: runs a command on the simulated GPU, by environment only.
//
// Puts the simulator's directory first on LD_LIBRARY_PATH, turns options into EGPU_SIM_*
// variables, and becomes the command. Exits as env(1) does: 125 own error, 126 the command cannot
// be run, 127 it is not found.
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tools/egpu-sim/program.h"

namespace {

constexpr int kOwnError = 125, kCannotRun = 126, kNotFound = 127;

constexpr const char *kHelp =
    R"(Usage: egpu-sim [OPTION]... [--] CMD [ARG]...
Runs CMD on a simulated GPU: CUDA driver and runtime come from the simulator.

  --devices N   number of GPUs, 0 to 64 (default 1)
  --cc X.Y      compute capability (default 9.0)
  --sms N       multiprocessors per GPU (default 4)
  --seed N      varies the interleaving of warps and blocks (default 0: fixed)
  --trace F     write a line per warp instruction to file F (docs/simulator.md, "Trace")
  --trace-calls print every driver call and its result on stderr
  --check-shared  a read of shared memory that nothing wrote is a fault
  --help        print this help and exit
  --version     print the version and exit

Exit status: CMD's; 125 if egpu-sim itself fails, 126 if CMD cannot be run, 127 if it is not found.

CMD must use the driver API, or be linked with `nvcc -cudart shared`. A program that carries
NVIDIA's own runtime must be relinked: nvcc -cudart shared, or NVCC_PREPEND_FLAGS=-L<directory of
eGPU's libcudart_static.a> in the environment of its build.
)";

[[noreturn]] void fail(const std::string &message) {
  std::fprintf(stderr, "egpu-sim: error: %s\negpu-sim: hint: try egpu-sim --help\n", message.c_str());
  std::exit(kOwnError);
}

bool is_number(const char *text, unsigned long long lowest, unsigned long long highest) {
  if (!*text || std::strspn(text, "0123456789") != std::strlen(text)) return false;
  errno = 0;
  const unsigned long long number = std::strtoull(text, nullptr, 10);
  return lowest <= number && number <= highest && errno == 0;
}

struct Option {
  const char *name, *variable;
  enum Kind { number, capability, text, flag } kind;
  unsigned long long lowest, highest;  // of a number
  const char *wanted;
};
constexpr Option kOptions[] = {
    {"--devices", "EGPU_SIM_DEVICES", Option::number, 0, 64, "a number from 0 to 64"},
    {"--cc", "EGPU_SIM_CC", Option::capability, 0, 0, "a compute capability like 9.0"},
    {"--sms", "EGPU_SIM_SMS", Option::number, 1, 1024, "a number from 1 to 1024"},
    {"--seed", "EGPU_SIM_SEED", Option::number, 0, ULLONG_MAX, "a number"},
    {"--trace", "EGPU_SIM_TRACE_FILE", Option::text, 0, 0, "a file"},
    {"--trace-calls", "EGPU_SIM_TRACE", Option::flag, 0, 0, nullptr},
    {"--check-shared", "EGPU_SIM_CHECK_SHARED", Option::flag, 0, 0, nullptr},
};

bool is_capability(const char *value) {
  int major = 0, minor = 0, used = 0;
  return std::sscanf(value, "%2d.%1d%n", &major, &minor, &used) == 2 && !value[used] && major >= 5 &&
         minor >= 0;
}

bool is_valid(const Option &option, const char *value) {
  switch (option.kind) {
    case Option::number:
      return is_number(value, option.lowest, option.highest);
    case Option::capability:
      return is_capability(value);
    default:
      return *value != 0;
  }
}

// Sets the variables; the index of CMD.
int read_options(int count, char **arguments) {
  int i = 1;
  for (; i < count && arguments[i][0] == '-'; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--") return i + 1;
    if (argument == "--help" || argument == "-h") {
      std::fputs(kHelp, stdout);
      std::exit(0);
    }
    if (argument == "--version") {
      std::puts("egpu-sim " EGPU_VERSION);
      std::exit(0);
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const Option *option = nullptr;
    for (const Option &each : kOptions)
      if (name == each.name) option = &each;
    if (!option) fail("unknown option '" + argument + "'");
    if (option->kind == Option::flag) {
      if (equals != std::string::npos) fail(name + ": takes no value");
      setenv(option->variable, "1", 1);
      continue;
    }
    if (equals == std::string::npos && i + 1 == count) fail(name + ": needs " + option->wanted);
    const std::string value = equals == std::string::npos ? arguments[++i] : argument.substr(equals + 1);
    if (!is_valid(*option, value.c_str())) fail(name + ": not " + option->wanted + ": '" + value + "'");
    setenv(option->variable, value.c_str(), 1);
  }
  return i;
}

// Next to the executable in a build tree, or installed: bin/ and lib/.
std::string find_libraries() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
  if (size <= 0) fail("/proc/self/exe: " + std::string(std::strerror(errno)));
  std::string directory(path, static_cast<size_t>(size));
  directory.resize(directory.rfind('/'));
  for (const char *place : {"/../lib/sim", "/../lib/egpu/sim"})
    if (char *real = realpath((directory + place).c_str(), nullptr)) {
      std::string found = real;
      std::free(real);
      if (access((found + "/libcuda.so.1").c_str(), R_OK) == 0) return found;
    }
  fail(directory + "/../lib/sim, .../lib/egpu/sim: no libcuda.so.1 of the simulator");
}

}  // namespace

int main(int count, char **arguments) {
  const int command = read_options(count, arguments);
  if (command >= count) fail("no command");
  const std::string libraries = find_libraries();
  const char *before = std::getenv("LD_LIBRARY_PATH");
  setenv("LD_LIBRARY_PATH", (before && *before ? libraries + ":" + before : libraries).c_str(), 1);
  egpu::sim::explain_program(arguments[command], libraries);
  execvp(arguments[command], arguments + command);
  const int error = errno;
  std::fprintf(stderr, "egpu-sim: error: %s: %s\n", arguments[command], std::strerror(error));
  return error == ENOENT ? kNotFound : kCannotRun;
}
