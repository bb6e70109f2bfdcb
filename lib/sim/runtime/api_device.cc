// Devices: choosing, properties, limits, peers.
#include <cstring>

#include "lib/sim/runtime/export.h"

using namespace egpu::rt;

namespace {

// Which attribute of the driver fills which field: CUdevice_attribute, offset, whether it is a size_t.
struct Field {
  int attribute;
  size_t offset;
  bool is_size;
};
#define INT(attribute, field) \
  { attribute, offsetof(DeviceProperties, field), false }
#define SIZE(attribute, field) \
  { attribute, offsetof(DeviceProperties, field), true }
constexpr Field kFields[] = {
    INT(1, threads_per_block),
    INT(2, block[0]),
    INT(3, block[1]),
    INT(4, block[2]),
    INT(5, grid[0]),
    INT(6, grid[1]),
    INT(7, grid[2]),
    SIZE(8, shared_per_block),
    SIZE(9, const_bytes),
    INT(10, warp),
    SIZE(11, pitch),
    INT(12, registers_per_block),
    SIZE(14, texture_alignment),
    INT(16, sm_count),
    INT(18, integrated),
    INT(19, can_map_host),
    INT(21, texture_1d),
    INT(22, texture_2d[0]),
    INT(23, texture_2d[1]),
    INT(24, texture_3d[0]),
    INT(25, texture_3d[1]),
    INT(26, texture_3d[2]),
    INT(27, texture_2d_layered[0]),
    INT(28, texture_2d_layered[1]),
    INT(29, texture_2d_layered[2]),
    SIZE(30, surface_alignment),
    INT(31, concurrent_kernels),
    INT(32, ecc),
    INT(33, pci_bus),
    INT(34, pci_device),
    INT(35, tcc),
    INT(37, memory_bus_width),
    INT(38, l2_bytes),
    INT(39, threads_per_sm),
    INT(40, copy_engines),
    INT(41, unified_addressing),
    INT(42, texture_1d_layered[0]),
    INT(43, texture_1d_layered[1]),
    INT(45, texture_2d_gather[0]),
    INT(46, texture_2d_gather[1]),
    INT(47, texture_3d_alternate[0]),
    INT(48, texture_3d_alternate[1]),
    INT(49, texture_3d_alternate[2]),
    INT(50, pci_domain),
    SIZE(51, texture_pitch_alignment),
    INT(52, texture_cube),
    INT(53, texture_cube_layered[0]),
    INT(54, texture_cube_layered[1]),
    INT(55, surface_1d),
    INT(56, surface_2d[0]),
    INT(57, surface_2d[1]),
    INT(58, surface_3d[0]),
    INT(59, surface_3d[1]),
    INT(60, surface_3d[2]),
    INT(61, surface_1d_layered[0]),
    INT(62, surface_1d_layered[1]),
    INT(63, surface_2d_layered[0]),
    INT(64, surface_2d_layered[1]),
    INT(65, surface_2d_layered[2]),
    INT(66, surface_cube),
    INT(67, surface_cube_layered[0]),
    INT(68, surface_cube_layered[1]),
    INT(70, texture_2d_linear[0]),
    INT(71, texture_2d_linear[1]),
    INT(72, texture_2d_linear[2]),
    INT(73, texture_2d_mipmap[0]),
    INT(74, texture_2d_mipmap[1]),
    INT(75, major),
    INT(76, minor),
    INT(77, texture_1d_mipmap),
    INT(78, stream_priorities),
    INT(79, global_l1),
    INT(80, local_l1),
    SIZE(81, shared_per_sm),
    INT(82, registers_per_sm),
    INT(83, managed_memory),
    INT(84, multi_gpu_board),
    INT(85, multi_gpu_group),
    INT(86, host_native_atomics),
    INT(88, pageable_access),
    INT(89, concurrent_managed),
    INT(90, preemption),
    INT(91, host_pointer_for_registered),
    INT(95, cooperative_launch),
    SIZE(97, shared_per_block_optin),
    INT(99, host_register),
    INT(100, pageable_uses_host_tables),
    INT(101, direct_managed_from_host),
    INT(106, blocks_per_sm),
    INT(108, persisting_l2_bytes),
    INT(109, access_policy_window),
    SIZE(111, reserved_shared),
    INT(112, sparse_array),
    INT(113, host_register_read_only),
    INT(114, timeline_semaphore),
    INT(115, memory_pools),
    INT(116, rdma),
    INT(117, rdma_flush),
    INT(118, rdma_ordering),
    INT(119, pool_handle_types),
    INT(120, cluster_launch),
    INT(121, deferred_mapping),
    INT(125, ipc_events),
    INT(129, unified_functions),
    INT(130, numa_config),
    INT(131, numa_id),
    INT(133, mps),
    INT(134, host_numa_id),
    INT(139, pci_device_id),
    INT(140, pci_subsystem_id),
    INT(143, host_numa_ipc),
};
#undef INT
#undef SIZE

int read_properties(DeviceProperties *properties, Ordinal device) {
  if (!properties) return kInvalidValue;
  RT_TRY(check_device(device));
  *properties = {};
  RT_TRY(cuDeviceGetName(properties->name, sizeof properties->name, device));
  RT_TRY(cuDeviceGetUuid_v2(&properties->uuid, device));
  RT_TRY(cuDeviceTotalMem_v2(&properties->total_bytes, device));
  for (const Field &field : kFields) {
    int value = 0;
    // An attribute that the driver does not know stays 0.
    if (cuDeviceGetAttribute(&value, field.attribute, device)) continue;
    char *const at = reinterpret_cast<char *>(properties) + field.offset;
    const auto wide = static_cast<size_t>(static_cast<unsigned>(value));
    if (field.is_size)
      std::memcpy(at, &wide, sizeof wide);
    else
      std::memcpy(at, &value, sizeof value);
  }
  return kOk;
}

int peer_context(Ordinal peer, Handle *context) {
  RT_TRY(ensure_context());
  return primary_context(peer, context);
}

}  // namespace

RT_API(cudaGetDeviceCount, (int *count), (count)) {
  if (!count) return kInvalidValue;
  *count = 0;
  RT_TRY(ensure_driver());
  return cuDeviceGetCount(count);
}
RT_API(cudaGetDeviceProperties, (DeviceProperties * properties, Ordinal device), (properties, device)) {
  return read_properties(properties, device);
}
RT_API(cudaDeviceGetAttribute, (int *value, int attribute, Ordinal device), (value, attribute, device)) {
  RT_TRY(check_device(device));
  return cuDeviceGetAttribute(value, attribute, device);
}
RT_API(cudaSetDevice, (Ordinal device), (device)) {
  RT_TRY(check_device(device));
  thread_state().device = device;
  return use_device(device);
}
RT_API(cudaInitDevice, (Ordinal device, unsigned device_flags, unsigned flags),
       (device, device_flags, flags)) {
  RT_TRY(check_device(device));
  if (flags & 1) RT_TRY(cuDevicePrimaryCtxSetFlags_v2(device, device_flags));
  Handle context = nullptr;
  return primary_context(device, &context);
}
RT_API(cudaGetDevice, (Ordinal * device), (device)) {
  return device ? current_device(device) : kInvalidValue;
}
// The device with most SMs that has the wanted compute capability and memory.
RT_API(cudaChooseDevice, (Ordinal * device, const DeviceProperties *wanted), (device, wanted)) {
  if (!device || !wanted) return kInvalidValue;
  int count = 0, most = -1;
  RT_TRY(ensure_driver());
  RT_TRY(cuDeviceGetCount(&count));
  *device = 0;
  for (Ordinal each = 0; each < count; ++each) {
    DeviceProperties has;
    RT_TRY(read_properties(&has, each));
    const bool fits = has.major * 10 + has.minor >= wanted->major * 10 + wanted->minor &&
                      has.total_bytes >= wanted->total_bytes;
    if (!fits || has.sm_count <= most) continue;
    most = has.sm_count;
    *device = each;
  }
  return kOk;
}
RT_API(cudaSetDeviceFlags, (unsigned flags), (flags)) {
  Ordinal device = 0;
  RT_TRY(current_device(&device));
  return cuDevicePrimaryCtxSetFlags_v2(device, flags);
}
RT_API(cudaGetDeviceFlags, (unsigned *flags), (flags)) {
  if (!flags) return kInvalidValue;
  Ordinal device = 0;
  int is_active = 0;
  RT_TRY(current_device(&device));
  return cuDevicePrimaryCtxGetState(device, flags, &is_active);
}
// The devices to try first when none has been chosen: here the first of them.
RT_API(cudaSetValidDevices, (int *devices, int count), (devices, count)) {
  if (count == 0) return kOk;
  if (!devices || count < 0) return kInvalidValue;
  for (int i = 0; i < count; ++i) RT_TRY(check_device(devices[i]));
  thread_state().device = devices[0];
  return kOk;
}
RT_FORWARD(cudaCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, (), ())
RT_API(cudaDeviceReset, (), ()) { return reset_device(); }
RT_FORWARD(cudaDeviceSynchronize, cuCtxSynchronize, (), ())
RT_FORWARD(cudaDeviceGetLimit, cuCtxGetLimit, (size_t * value, int limit), (value, limit))
RT_FORWARD(cudaDeviceSetLimit, cuCtxSetLimit, (int limit, size_t value), (limit, value))
RT_FORWARD(cudaDeviceGetCacheConfig, cuCtxGetCacheConfig, (int *config), (config))
RT_FORWARD(cudaDeviceSetCacheConfig, cuCtxSetCacheConfig, (int config), (config))
RT_FORWARD(cudaDeviceGetStreamPriorityRange, cuCtxGetStreamPriorityRange, (int *least, int *greatest),
           (least, greatest))
RT_FORWARD(cudaDeviceGetPCIBusId, cuDeviceGetPCIBusId, (char *text, int size, Ordinal device),
           (text, size, device))
RT_FORWARD(cudaDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, (Ordinal * device, const char *text),
           (device, text))
RT_FORWARD(cudaDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, (Handle * pool, Ordinal device),
           (pool, device))
RT_FORWARD(cudaDeviceGetMemPool, cuDeviceGetMemPool, (Handle * pool, Ordinal device), (pool, device))
RT_FORWARD(cudaDeviceSetMemPool, cuDeviceSetMemPool, (Ordinal device, Handle pool), (device, pool))
RT_FORWARD(cudaDeviceCanAccessPeer, cuDeviceCanAccessPeer, (int *can, Ordinal device, Ordinal peer),
           (can, device, peer))
RT_FORWARD(cudaDeviceGetP2PAttribute, cuDeviceGetP2PAttribute,
           (int *value, int attribute, Ordinal from, Ordinal to), (value, attribute, from, to))
RT_API(cudaDeviceEnablePeerAccess, (Ordinal peer, unsigned flags), (peer, flags)) {
  Handle context = nullptr;
  RT_TRY(peer_context(peer, &context));
  return cuCtxEnablePeerAccess(context, flags);
}
RT_API(cudaDeviceDisablePeerAccess, (Ordinal peer), (peer)) {
  Handle context = nullptr;
  RT_TRY(peer_context(peer, &context));
  return cuCtxDisablePeerAccess(context);
}
