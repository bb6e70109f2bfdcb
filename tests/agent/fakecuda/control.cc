// What the tests ask and set.
#include "tests/agent/fakecuda/state.h"

namespace {

class ControlImplementation final : public fakecuda::Control {
 public:
  std::vector<Launch> launches() override {
    std::lock_guard lock(mutex);
    return fakecuda::launches;
  }
  uint64_t launch_count(const char *function, bool patched) override {
    std::lock_guard lock(mutex);
    return counts[std::string(function) + (patched ? "/patched" : "")];
  }
  void reset() override {
    std::lock_guard lock(mutex);
    fakecuda::launches.clear();
    counts.clear();
    busy = false;
    patched_error = 0;
    broken_capture = false;
  }
  void set_busy(bool b) override { busy = b; }
  void fail_patched(int error) override { patched_error = error; }
  CUcontext create_context() override { return reinterpret_cast<CUcontext>(new Context); }
  int modules_alive() override {
    std::lock_guard lock(mutex);
    return static_cast<int>(modules.size());
  }
  long device_bytes() override {
    std::lock_guard lock(mutex);
    long total = 0;
    for (auto &[address, bytes] : allocations) total += static_cast<long>(bytes);
    return total;
  }
  int attribute(CUfunction f, int attribute) override { return resolve(f)->attributes[attribute]; }
  int cache_config(CUfunction f) override { return resolve(f)->cache_config; }
  bool capture_was_broken() override { return broken_capture; }
  int dead_function_uses() override { return dead_launches; }
  CUfunction last_patched() override { return reinterpret_cast<CUfunction>(last_patched_function); }
};

}  // namespace

extern "C" __attribute__((visibility("default"))) fakecuda::Control *fake_control() {
  static ControlImplementation control;
  return &control;
}
