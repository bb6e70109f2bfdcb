// What a hooked launch does with its function, whatever the entry point.
//
// Nothing to do: one look-up in the table, then the original; no lock, allocation or system
// call. Unknown function: egpu-load is asked; start mode waits for the answer, attach mode goes
// on with the original. Probed: the patched function, with two more parameters if it takes them
// (u64 launch_ns, u64 address of a launch slot). If that fails, the original.
#pragma once
#include "lib/loader/agent/table.h"

namespace egpu::agent {

// Threads of a block and bytes of its dynamic shared memory.
struct Block {
  unsigned x, y, z, shared_bytes;
};

// The function and parameters of a launch or a kernel node. One of `params` and `extra` is
// null, or both.
struct LaunchArguments {
  CUfunction function;
  void **params, **extra;
  Block block = {};
};

// Where a launch goes: decides whether a capture is under way and which slot it may take.
enum class Target : uint32_t { stream, per_thread_stream, graph };

// Calls the original entry point with other arguments; `closure` holds the rest of them.
using LaunchCall = CUresult (*)(void *closure, const LaunchArguments &arguments);

/// The part that is off the fast path: `verdict` is neither unprobed nor patched.
CUresult launch_slowly(const LaunchArguments &arguments, Target target, CUstream stream, LaunchCall call,
                       void *closure);

/// Launches through `call(arguments)`, redirected if the function is probed.
template <class Call>
inline CUresult redirect(const LaunchArguments &arguments, Target target, CUstream stream, Call call) {
  Verdict verdict;
  look_up(reinterpret_cast<uint64_t>(arguments.function), &verdict);
  if (__builtin_expect(verdict == Verdict::unprobed || verdict == Verdict::patched, 1))
    return call(arguments);
  return launch_slowly(
      arguments, target, stream,
      [](void *closure, const LaunchArguments &a) { return (*static_cast<Call *>(closure))(a); }, &call);
}

}  // namespace egpu::agent
