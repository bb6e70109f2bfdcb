// The CUDA runtime API's types as our runtime needs them, declared by us: the toolkit's headers
// are not needed to build (tests/sim-runtime compares sizes and offsets with them where they are
// installed). Handles, memory addresses and the driver's structures are those of
// lib/sim/driver/api.h; most of the runtime's numbers (device attributes, stream and event flags,
// memory kinds of allocations, launch attributes, error numbers) are the driver's too.
// Source: CUDA Runtime API manual 13.0, "Data types used by CUDA Runtime".
#pragma once
#include "lib/sim/driver/api.h"

namespace egpu::rt {

using sim::Address, sim::ArrayDescriptor, sim::Copy2D, sim::Copy3D, sim::Handle, sim::Ordinal;

// cudaError_t where it differs from the driver's numbers or is the runtime's own.
enum Error : int {
  kOk = 0,
  kInvalidValue = 1,
  kOutOfMemory = 2,
  kInvalidConfiguration = 9,
  kInvalidSymbol = 13,
  kInvalidDevicePointer = 17,
  kInvalidChannels = 20,
  kInvalidDirection = 21,
  kInsufficientDriver = 35,
  kNewerDriverNeeded = 36,
  kDevicesUnavailable = 46,
  kMissingConfiguration = 52,
  kInvalidDeviceFunction = 98,
  kNoSuchDevice = 101,
  kInvalidResourceHandle = 400,
  kNotFoundByDriver = 500,
  kNotSupported = 801,
  kUnknownError = 999,
};

enum CopyKind : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kInferred };

struct Dim3 {
  unsigned x, y, z;
};
struct Extent {
  size_t width, height, depth;
};
struct Position {
  size_t x, y, z;
};
struct PitchedPointer {
  void *pointer;
  size_t pitch, width, height;
};
struct Copy3DParameters {  // cudaMemcpy3DParms
  Handle from_array;
  Position from_position;
  PitchedPointer from;
  Handle to_array;
  Position to_position;
  PitchedPointer to;
  Extent extent;
  int kind;
};
struct PeerCopy3DParameters {  // cudaMemcpy3DPeerParms
  Handle from_array;
  Position from_position;
  PitchedPointer from;
  int from_device;
  Handle to_array;
  Position to_position;
  PitchedPointer to;
  int to_device;
  Extent extent;
};
using Location = sim::MemLocation;
struct ChannelFormat {
  int x, y, z, w, kind;
};
struct LaunchConfig {  // cudaLaunchConfig_t
  Dim3 grid, block;
  size_t shared_bytes;
  Handle stream;
  sim::CUlaunchAttribute *attributes;
  unsigned attribute_count;
};
struct KernelNode {  // cudaKernelNodeParams
  void *function;
  Dim3 grid, block;
  unsigned shared_bytes;
  void **parameters, **extra;
};
struct CopyNode {  // cudaMemcpyNodeParams
  int flags, reserved[3];
  Copy3DParameters copy;
};
struct NodeParameters {  // cudaGraphNodeParams
  int type, reserved0[3];
  union {
    long long reserved1[29];
    KernelNode kernel;
    CopyNode memcpy;
  };
  long long reserved2;
};
struct PointerAttributes {
  int type, device;  // type: 0 unknown to CUDA, 1 host, 2 device, 3 managed
  void *device_pointer, *host_pointer;
  long reserved[8];
};
struct FunctionAttributes {
  size_t shared_bytes, const_bytes, local_bytes;
  int max_threads, registers, ptx_version, binary_version, cache_mode_ca, max_dynamic_shared_bytes,
      shared_carveout, cluster_must_be_set, cluster_width, cluster_height, cluster_depth, cluster_policy,
      non_portable_cluster, reserved[16];
};

struct DeviceProperties {  // cudaDeviceProp
  char name[256];
  sim::Uuid uuid;
  char luid[8];
  unsigned luid_node_mask;
  size_t total_bytes, shared_per_block;
  int registers_per_block, warp;
  size_t pitch;
  int threads_per_block, block[3], grid[3];
  size_t const_bytes;
  int major, minor;
  size_t texture_alignment, texture_pitch_alignment;
  int sm_count, integrated, can_map_host;
  int texture_1d, texture_1d_mipmap, texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3],
      texture_2d_gather[2], texture_3d[3], texture_3d_alternate[3], texture_cube, texture_1d_layered[2],
      texture_2d_layered[3], texture_cube_layered[2];
  int surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2], surface_2d_layered[3], surface_cube,
      surface_cube_layered[2];
  size_t surface_alignment;
  int concurrent_kernels, ecc, pci_bus, pci_device, pci_domain, tcc, copy_engines, unified_addressing,
      memory_bus_width, l2_bytes, persisting_l2_bytes, threads_per_sm, stream_priorities, global_l1, local_l1;
  size_t shared_per_sm;
  int registers_per_sm, managed_memory, multi_gpu_board, multi_gpu_group, host_native_atomics,
      pageable_access, concurrent_managed, preemption, host_pointer_for_registered, cooperative_launch;
  size_t shared_per_block_optin;
  int pageable_uses_host_tables, direct_managed_from_host, blocks_per_sm, access_policy_window;
  size_t reserved_shared;
  int host_register, sparse_array, host_register_read_only, timeline_semaphore, memory_pools, rdma;
  unsigned rdma_flush;
  int rdma_ordering;
  unsigned pool_handle_types;
  int deferred_mapping, ipc_events, cluster_launch, unified_functions, numa_config, numa_id, mps,
      host_numa_id;
  unsigned pci_device_id, pci_subsystem_id;
  int host_numa_ipc, reserved[56];
};

}  // namespace egpu::rt
