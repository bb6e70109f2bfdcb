// The trace as text: one line per warp instruction.
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "lib/sim/machine/machine.h"

namespace egpu::sim {
namespace {

void append_hex(std::string &line, uint64_t value) {
  char text[24];
  int length = std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  line.append(text, static_cast<size_t>(length));
}

class TraceFile : public Trace {
 public:
  explicit TraceFile(std::FILE *file) : file_(file) {}
  ~TraceFile() override { std::fclose(file_); }
  TraceFile(const TraceFile &) = delete;
  TraceFile &operator=(const TraceFile &) = delete;

  // kernel block warp ptx-line mask opcode [addresses]
  void step(const TraceStep &step) override {
    thread_local std::string line;
    line.assign(step.kernel);
    line += ' ';
    for (size_t i = 0; i < 3; ++i) line += (i ? "," : "") + std::to_string(step.block[i]);
    line += ' ' + std::to_string(step.warp) + ' ' + std::to_string(step.line) + ' ';
    append_hex(line, step.mask);
    line += ' ';
    line.append(step.text, step.text_size);
    char separator = ' ';
    for (uint32_t lane = 0; step.addresses && lane < 32; ++lane) {
      if (!(step.mask >> lane & 1)) continue;
      line += separator;
      append_hex(line, step.addresses[lane]);
      separator = ',';
    }
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), file_);  // stdio locks: lines stay whole
  }

 private:
  std::FILE *file_;
};
}  // namespace

Result<std::shared_ptr<Trace>> open_trace_file(const std::string &path) {
  std::FILE *file = std::fopen(path.c_str(), "we");
  if (!file) return Error{path + ": " + std::strerror(errno)};
  return std::shared_ptr<Trace>(std::make_shared<TraceFile>(file));
}

}  // namespace egpu::sim
