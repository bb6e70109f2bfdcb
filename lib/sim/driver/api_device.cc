// Devices: what they are called and what they can do.
#include <cstdio>
#include <cstring>

#include "lib/sim/driver/driver.h"
#include "lib/sim/driver/export.h"

using namespace egpu::sim;

namespace {

constexpr int kConfigured = -1;  // answered from the device's configuration

struct AttributeRow {
  int id, value;
};

// CUdevice_attribute by number. What is not listed is 0: the device cannot do it.
constexpr AttributeRow kAttributes[] = {
    {1, 1024},           // MAX_THREADS_PER_BLOCK
    {2, 1024},           // MAX_BLOCK_DIM_X
    {3, 1024},           // MAX_BLOCK_DIM_Y
    {4, 64},             // MAX_BLOCK_DIM_Z
    {5, 2147483647},     // MAX_GRID_DIM_X
    {6, 65535},          // MAX_GRID_DIM_Y
    {7, 65535},          // MAX_GRID_DIM_Z
    {8, 49152},          // MAX_SHARED_MEMORY_PER_BLOCK
    {9, 65536},          // TOTAL_CONSTANT_MEMORY
    {10, 32},            // WARP_SIZE
    {11, 2147483647},    // MAX_PITCH
    {12, 65536},         // MAX_REGISTERS_PER_BLOCK
    {13, 1000000},       // CLOCK_RATE, kHz
    {14, 512},           // TEXTURE_ALIGNMENT
    {15, 1},             // GPU_OVERLAP
    {16, kConfigured},   // MULTIPROCESSOR_COUNT
    {19, 1},             // CAN_MAP_HOST_MEMORY
    {30, 512},           // SURFACE_ALIGNMENT
    {31, 1},             // CONCURRENT_KERNELS
    {36, 1000000},       // MEMORY_CLOCK_RATE, kHz
    {37, 64},            // GLOBAL_MEMORY_BUS_WIDTH
    {38, 4194304},       // L2_CACHE_SIZE
    {39, 2048},          // MAX_THREADS_PER_MULTIPROCESSOR
    {40, 1},             // ASYNC_ENGINE_COUNT
    {41, 1},             // UNIFIED_ADDRESSING
    {51, 32},            // TEXTURE_PITCH_ALIGNMENT
    {75, kConfigured},   // COMPUTE_CAPABILITY_MAJOR
    {76, kConfigured},   // COMPUTE_CAPABILITY_MINOR
    {78, 1},             // STREAM_PRIORITIES_SUPPORTED
    {79, 1},             // GLOBAL_L1_CACHE_SUPPORTED
    {80, 1},             // LOCAL_L1_CACHE_SUPPORTED
    {81, kConfigured},   // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    {82, 65536},         // MAX_REGISTERS_PER_MULTIPROCESSOR
    {83, 1},             // MANAGED_MEMORY
    {86, 1},             // HOST_NATIVE_ATOMIC_SUPPORTED
    {87, 2},             // SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
    {89, 1},             // CONCURRENT_MANAGED_ACCESS
    {91, 1},             // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    {95, 1},             // COOPERATIVE_LAUNCH
    {97, kConfigured},   // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    {99, 1},             // HOST_REGISTER_SUPPORTED
    {106, 32},           // MAX_BLOCKS_PER_MULTIPROCESSOR
    {111, 1024},         // RESERVED_SHARED_MEMORY_PER_BLOCK
    {115, 1},            // MEMORY_POOLS_SUPPORTED
    {120, kConfigured},  // CLUSTER_LAUNCH
    {122, 1},            // CAN_USE_64_BIT_STREAM_MEM_OPS
    {123, 1},            // CAN_USE_STREAM_WAIT_VALUE_NOR
};

int configured(const DeviceConfig &config, int id) {
  switch (id) {
    case 16:
      return static_cast<int>(config.sm_count);
    case 75:
      return config.compute_major;
    case 76:
      return config.compute_minor;
    case 120:
      return config.compute_major >= 9;
    case 81:
      return static_cast<int>(config.max_shared_bytes) + 1024;
    default:
      return static_cast<int>(config.max_shared_bytes);
  }
}

constexpr int kLastAttribute = 147;

// As "GPU-..." of nvidia-smi: the project's name and the ordinal.
Uuid uuid_of(Ordinal ordinal) {
  Uuid id{};
  std::memcpy(id.bytes, "eGPU-simulated", 14);
  id.bytes[15] = static_cast<char>(ordinal);
  return id;
}

Status device_uuid(Uuid *id, Ordinal device) {
  if (!id) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  if (!find_device(device)) return kInvalidDevice;
  *id = uuid_of(device);
  return kSuccess;
}

Status total_memory(size_t *size_bytes, Ordinal device) {
  if (!size_bytes) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  if (!find_device(device)) return kInvalidDevice;
  *size_bytes = kDeviceBytes;
  return kSuccess;
}

}  // namespace

CU_API(cuDeviceGet, (Ordinal * device, int ordinal), (device, ordinal)) {
  if (!device) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  if (!find_device(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}

CU_API(cuDeviceGetCount, (int *count), (count)) {
  if (!count) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  *count = static_cast<int>(driver().devices.size());
  return kSuccess;
}

CU_API(cuDeviceGetName, (char *name, int length, Ordinal device), (name, length, device)) {
  if (!name || length <= 0) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  const Device *found = find_device(device);
  if (!found) return kInvalidDevice;
  const DeviceConfig &config = found->machine->config();
  std::snprintf(name, static_cast<size_t>(length), "eGPU simulated GPU (sm_%d%d)", config.compute_major,
                config.compute_minor);
  return kSuccess;
}

CU_API(cuDeviceGetUuid, (Uuid * id, Ordinal device), (id, device)) { return device_uuid(id, device); }
CU_API(cuDeviceGetUuid_v2, (Uuid * id, Ordinal device), (id, device)) { return device_uuid(id, device); }

CU_API(cuDeviceTotalMem, (size_t * size_bytes, Ordinal device), (size_bytes, device)) {
  return total_memory(size_bytes, device);
}
CU_API(cuDeviceTotalMem_v2, (size_t * size_bytes, Ordinal device), (size_bytes, device)) {
  return total_memory(size_bytes, device);
}

CU_API(cuDeviceGetAttribute, (int *value, int attribute, Ordinal device), (value, attribute, device)) {
  if (!value || attribute < 1 || attribute > kLastAttribute) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  const Device *found = find_device(device);
  if (!found) return kInvalidDevice;
  *value = attribute == 34 ? device : 0;  // PCI_DEVICE_ID tells the devices apart
  for (const AttributeRow &row : kAttributes)
    if (row.id == attribute)
      *value = row.value == kConfigured ? configured(found->machine->config(), attribute) : row.value;
  return kSuccess;
}

CU_API(cuDeviceGetProperties, (DeviceProperties * properties, Ordinal device), (properties, device)) {
  if (!properties) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  if (!find_device(device)) return kInvalidDevice;
  *properties = {
      1024, {1024, 1024, 64}, {2147483647, 65535, 65535}, 49152, 65536, 32, 2147483647, 65536, 1000000, 512};
  return kSuccess;
}

CU_API(cuDeviceComputeCapability, (int *major, int *minor, Ordinal device), (major, minor, device)) {
  if (!major || !minor) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  const Device *found = find_device(device);
  if (!found) return kInvalidDevice;
  *major = found->machine->config().compute_major;
  *minor = found->machine->config().compute_minor;
  return kSuccess;
}

CU_API(cuDeviceGetPCIBusId, (char *id, int length, Ordinal device), (id, length, device)) {
  if (!id || length < 13) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  if (!find_device(device)) return kInvalidDevice;
  std::snprintf(id, static_cast<size_t>(length), "0000:00:%02x.0", static_cast<unsigned>(device));
  return kSuccess;
}

CU_API(cuDeviceGetByPCIBusId, (Ordinal * device, const char *id), (device, id)) {
  if (!device || !id) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  unsigned ordinal = 0;
  if (std::sscanf(id, "0000:00:%2x.0", &ordinal) != 1 || !find_device(static_cast<Ordinal>(ordinal)))
    return kInvalidDevice;
  *device = static_cast<Ordinal>(ordinal);
  return kSuccess;
}
