// The stand-in driver's own: what its objects are, and its state. One process, one driver: plain variables.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "tests/agent/fakecuda.h"

// Entry points that the agent hooks: nop, then the implementation `fake_NAME`.
#define HOOKABLE(name)                                                          \
  asm(".text\n.balign 16\n.globl " #name "\n.type " #name ", @function\n" #name \
      ":\n.byte 0x0f,0x1f,0x84,0x00,0x00,0x00,0x00,0x00\njmp fake_" #name "\n.size " #name ", 16\n")
#define IMPLEMENT extern "C" __attribute__((visibility("hidden"), used)) CUresult
#define EXPORT extern "C" __attribute__((visibility("default"))) CUresult

namespace fakecuda {

constexpr uint64_t kFunctionMagic = 0xf00d, kKernelMagic = 0xbeef, kDeadMagic = 0xdead;

struct Module;
struct Library;
struct Function {
  uint64_t magic = kFunctionMagic;
  std::string name;
  Module *module;
  std::vector<size_t> parameter_bytes;
  std::atomic<uint64_t> *counter = nullptr;
  int attributes[16] = {};
  int cache_config = 0;
  std::atomic<uint64_t> launches{0};
  ~Function() { *const_cast<volatile uint64_t *>(&magic) = kDeadMagic; }
};
struct Module {
  std::string text;
  std::map<std::string, std::unique_ptr<Function>> functions;
  std::map<std::string, uint64_t> globals;
  bool patched() const { return text.find("PATCHED") != std::string::npos; }
};
struct Kernel {
  uint64_t magic = kKernelMagic;
  std::string name;
  Library *library;
  std::map<void *, Function *> functions;  // per context
};
struct Library {
  std::string text;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
  std::map<void *, Module *> modules;
  std::vector<std::unique_ptr<Module>> owned;
};
struct Context {
  int device = 0;
};
struct Stream {
  bool capturing = false;
};
struct Node {
  CUDA_KERNEL_NODE_PARAMS_v2 params;
};
struct Link {
  std::string text;
  char *errors;
};

inline std::recursive_mutex mutex;  // guards the containers and what they hold
inline std::vector<Launch> launches;
inline std::map<std::string, uint64_t> counts;
inline std::set<Module *> modules;
inline std::map<uint64_t, size_t> allocations;
inline std::atomic<int> dead_launches{0};
inline std::atomic<bool> busy{false}, broken_capture{false};
inline std::atomic<int> patched_error{0};
inline Context primary;
inline int primary_count = 0;
inline Function *last_patched_function = nullptr;
inline thread_local CUcontext current = nullptr;
inline thread_local int capture_mode = 0;
inline std::atomic<int> captures{0};

// What a driver frees with its context stays reachable here, or it would count as leaked.
template <class T>
T *keep(T *object) {
  static auto *kept = new std::vector<void *>;
  static std::mutex lock;
  std::lock_guard guard(lock);
  kept->push_back(object);
  return object;
}

/// The function that a handle of either kind means in the current context; null: none.
Function *resolve(CUfunction handle);
/// A call that a global capture elsewhere forbids, unless this thread is relaxed.
void unsafe_call();

}  // namespace fakecuda

using namespace fakecuda;
