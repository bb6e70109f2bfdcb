// The CUDA driver API's types as the simulated driver needs them: numbers, handles and the
// structures that cross the border, in addition to those of lib/loader/driver/cuda_api.h. From
// the public reference; NVIDIA's cuda.h is not used (tests/sim-driver compares sizes, offsets
// and values with it where it is installed).
#pragma once
#include <cstddef>
#include <cstdint>

#include "lib/loader/driver/cuda_api.h"

namespace egpu::sim {

enum Status : int {
#define X(number, name, constant, text) constant = number,
#include "lib/sim/driver/status.inc"
#undef X
};

using Handle = void *;               // CUcontext, CUstream, CUmodule, ...
using Address = unsigned long long;  // CUdeviceptr
using Ordinal = int;                 // CUdevice

inline const Handle kLegacyStream = reinterpret_cast<Handle>(1),
                    kPerThreadStream = reinterpret_cast<Handle>(2);

enum StreamFlag : unsigned { kStreamNonBlocking = 1 };
enum EventFlag : unsigned { kEventBlockingSync = 1, kEventDisableTiming = 2, kEventInterprocess = 4 };
enum CaptureMode : int { kCaptureGlobal, kCaptureThreadLocal, kCaptureRelaxed };
enum CaptureStatus : int { kCaptureNone, kCaptureActive, kCaptureInvalidated };
enum MemoryType : int { kMemoryHost = 1, kMemoryDevice, kMemoryArray, kMemoryUnified };
enum JitOption : int {
  kJitWallTime = 2,
  kJitInfoLog = 3,
  kJitInfoLogBytes = 4,
  kJitErrorLog = 5,
  kJitErrorLogBytes = 6,
};
enum JitInput : int { kJitCubin, kJitPtx, kJitFatbin, kJitObject, kJitLibrary };
enum LaunchAttribute : int {
  kLaunchCooperative = 2,
  kLaunchClusterDimension = 4,
  kLaunchPriority = 8,
  kLaunchAttributeCount = 17
};
enum FunctionAttribute : int {
  kMaxThreadsPerBlock,
  kSharedBytes,
  kConstBytes,
  kLocalBytes,
  kRegisters,
  kPtxVersion,
  kBinaryVersion,
  kCacheModeCa,
  kMaxDynamicSharedBytes,
  kSharedCarveout,
  kClusterSizeMustBeSet,
  kClusterWidth,
  kClusterHeight,
  kClusterDepth,
  kNonPortableCluster,
  kClusterPolicy,
  kFunctionAttributeCount,
};
enum NodeType : int {
  kNodeKernel,
  kNodeMemcpy,
  kNodeMemset,
  kNodeHost,
  kNodeGraph,
  kNodeEmpty,
  kNodeWaitEvent,
  kNodeEventRecord,
  kNodeMemoryAllocation = 10,
  kNodeMemoryFree = 11,
  kNodeMemoryOps = 12,
};

// `extra` of a launch: a list of these, each followed by a pointer, closed by kParamEnd.
inline void *const kParamEnd = nullptr;
inline void *const kParamPointer = reinterpret_cast<void *>(1), *const kParamSize =
                                                                    reinterpret_cast<void *>(2);

using driver::CUlaunchAttribute, driver::CUlaunchConfig, driver::CUgraphNodeParams;
using KernelNodeParamsV1 = driver::CUDA_KERNEL_NODE_PARAMS_v1;
using KernelNodeParams = driver::CUDA_KERNEL_NODE_PARAMS_v2;
struct MemsetNodeParams {
  Address to;
  size_t pitch;
  unsigned value, element_bytes;
  size_t width, height;
};
struct HostNodeParams {
  void (*function)(void *);
  void *user_data;
};
struct MemoryOp {  // CUstreamBatchMemOpParams: all of its structures at once
  int type;
  unsigned barrier_flags;
  Address address;
  uint64_t value;
  unsigned flags;
  uint64_t unused[2];
};
struct MemoryOpNodeParams {
  Handle context;
  unsigned count;
  MemoryOp *operations;
  unsigned flags;
};
struct GraphExecUpdateResult {
  int result;  // graph_update.h: UpdateResult
  Handle error_node, error_from_node;
};
struct GraphInstantiateParams {
  uint64_t flags;
  Handle upload_stream, error_node;
  int result;
};

struct Copy2D {
  size_t from_x_bytes, from_y;
  int from_type;
  const void *from_host;
  Address from_device;
  Handle from_array;
  size_t from_pitch;
  size_t to_x_bytes, to_y;
  int to_type;
  void *to_host;
  Address to_device;
  Handle to_array;
  size_t to_pitch;
  size_t width_bytes, height;
};
struct Copy3D {
  size_t from_x_bytes, from_y, from_z, from_lod;
  int from_type;
  const void *from_host;
  Address from_device;
  Handle from_array;
  void *reserved0;
  size_t from_pitch, from_height;
  size_t to_x_bytes, to_y, to_z, to_lod;
  int to_type;
  void *to_host;
  Address to_device;
  Handle to_array;
  void *reserved1;
  size_t to_pitch, to_height;
  size_t width_bytes, height, depth;
};

// Copies between contexts, with the contexts of both ends.
struct Copy3DPeer {
  size_t from_x_bytes, from_y, from_z, from_lod;
  int from_type;
  const void *from_host;
  Address from_device;
  Handle from_array, from_context;
  size_t from_pitch, from_height;
  size_t to_x_bytes, to_y, to_z, to_lod;
  int to_type;
  void *to_host;
  Address to_device;
  Handle to_array, to_context;
  size_t to_pitch, to_height;
  size_t width_bytes, height, depth;
};

struct ArrayDescriptor2D {
  size_t width, height;  // in elements
  int format;
  unsigned channels;
};
struct ArrayDescriptor {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};

struct MemLocation {
  int type, id;
};
struct CopyAttributes {  // CUmemcpyAttributes
  int source_order;
  MemLocation from_hint, to_hint;
  unsigned flags;
};
enum SourceOrder : int { kSourceInStream = 1, kSourceDuringCall = 2, kSourceAnyTime = 3 };
struct MemAccess {
  MemLocation location;
  int flags;
};
struct MemPoolProperties {
  int type, handle_types;
  MemLocation location;
  void *security;
  size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
};

struct MemoryAllocationNodeParams {
  MemPoolProperties properties;
  const MemAccess *access;
  size_t access_count, size_bytes;
  Address address;
};

struct Uuid {
  char bytes[16];
};
struct DeviceProperties {  // CUdevprop
  int threads_per_block, block[3], grid[3], shared_bytes, const_bytes, warp, pitch, registers, clock_khz,
      texture_align;
};

}  // namespace egpu::sim
