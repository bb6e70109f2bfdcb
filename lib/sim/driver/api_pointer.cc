// What a pointer is, and what the program wants to happen with managed memory.
#include <algorithm>
#include <cstring>

#include "lib/sim/driver/allocation.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/stream.h"

using namespace egpu::sim;

namespace {

constexpr int kAtDevice = 1, kAtHostType = 2;  // CUmemLocationType

// What cuPointerGetAttribute can be asked, for one address.
struct Pointer {
  Address address = 0;
  uint64_t base = 0, size_bytes = 0, id = 0;
  bool known = false, is_host = false, is_managed = false;
  Context *context = nullptr;
  Ordinal device = -2;  // "no device", as the driver says it
};

Pointer describe(Address address) {
  Pointer pointer;
  pointer.address = address;
  if (Allocation allocation; find_allocation(address, &allocation)) {
    pointer.known = true;
    pointer.base = allocation.base;
    pointer.size_bytes = allocation.size_bytes;
    pointer.id = allocation.id;
    pointer.is_host = allocation.kind == Allocation::host || allocation.kind == Allocation::registered;
    pointer.is_managed = allocation.kind == Allocation::managed;
    pointer.context = allocation.context;
    pointer.device = allocation.context->device.ordinal;
  } else if (const Device *device = device_of(address, &pointer.base, &pointer.size_bytes)) {
    pointer.known = true;  // a module's variable
    pointer.context = device->primary;
    pointer.device = device->ordinal;
  }
  return pointer;
}

// CUpointer_attribute by number. Strict: an unknown pointer is an error (cuPointerGetAttribute);
// else it gets a null value (cuPointerGetAttributes).
Status pointer_attribute(const Pointer &pointer, int attribute, void *data, bool strict) {
  if (!data) return kInvalidValue;
  if (strict && !pointer.known) return kInvalidValue;
  switch (attribute) {
    case 1:
      *static_cast<Handle *>(data) = pointer.context ? handle_of(*pointer.context) : nullptr;
      break;
    case 2:
      *static_cast<int *>(data) = !pointer.known ? 0 : pointer.is_host ? kMemoryHost : kMemoryDevice;
      break;
    case 3:
      *static_cast<Address *>(data) = pointer.known ? pointer.address : 0;
      break;
    case 4: {
      const bool has = pointer.is_host || pointer.is_managed;
      *static_cast<void **>(data) =
          has || !pointer.known ? reinterpret_cast<void *>(pointer.address) : nullptr;
      if (strict && !has) return kInvalidValue;
      break;
    }
    case 6:  // SYNC_MEMOPS
    case 8:
      *static_cast<unsigned char *>(data) = attribute == 8 && pointer.is_managed;
      break;
    case 7:
      *static_cast<unsigned long long *>(data) = pointer.id;
      break;
    case 9:
      *static_cast<int *>(data) = pointer.device;
      break;
    case 10:
      *static_cast<unsigned char *>(data) = 0;
      break;
    case 11:
      *static_cast<Address *>(data) = pointer.base;
      break;
    case 12:
      *static_cast<size_t *>(data) = pointer.size_bytes;
      break;
    case 13:
      *static_cast<unsigned char *>(data) = pointer.known;
      break;
    case 14:
      *static_cast<unsigned long long *>(data) = 0;
      break;
    case 15:
      *static_cast<unsigned char *>(data) = 0;
      break;
    case 16:
      *static_cast<int *>(data) = pointer.known ? 3 : 0;
      break;  // read and write
    case 17:
      *static_cast<Handle *>(data) = nullptr;
      break;
    default:
      return kInvalidValue;
  }
  return kSuccess;
}

Ordinal ordinal_of(MemLocation location) { return location.type == kAtDevice ? location.id : kAtHost; }

// CUmem_advise by number: set, unset.
Status advise(Address address, uint64_t size_bytes, int advice, Ordinal place) {
  CU_CONTEXT(context);
  if (advice < 1 || advice > 6) return kInvalidValue;
  const bool is_placed = advice == 3 || advice == 5 || advice == 6;
  if (is_placed && place != kAtHost && !find_device(place)) return kInvalidDevice;
  return with_advice(address, size_bytes, [&](Advice &about) {
    if (advice <= 2) about.is_read_mostly = advice == 1;
    if (advice == 3 || advice == 4) about.preferred = advice == 3 ? place : kNowhere;
    if (advice == 5) about.accessed_by.insert(place);
    if (advice == 6) about.accessed_by.erase(place);
  });
}

// One memory: nothing to move.
Status prefetch(DefaultStream which, Address address, uint64_t size_bytes, Ordinal place, Handle stream) {
  CU_CONTEXT(context);
  if (!find_stream(*context, stream, which)) return kInvalidHandle;
  if (place != kAtHost && !find_device(place)) return kInvalidDevice;
  return with_advice(address, size_bytes, [&](Advice &about) { about.prefetched = place; });
}

// CUmem_range_attribute by number: 1 read mostly, 2 preferred, 3 accessed by, 4 last prefetch; 5 to 8
// are 2 and 4 as a location's type and id.
Status range_attribute(void *data, size_t size_bytes, int attribute, Address address, size_t range_bytes) {
  if (!data || size_bytes < sizeof(int) || attribute < 1 || attribute > 8) return kInvalidValue;
  auto *words = static_cast<int *>(data);
  return with_advice(address, range_bytes, [&](Advice &about) {
    const Ordinal place = attribute == 4 || attribute >= 7 ? about.prefetched : about.preferred;
    if (attribute == 1) {
      *words = about.is_read_mostly;
    } else if (attribute == 3) {
      std::fill_n(words, size_bytes / sizeof(int), kNowhere);
      size_t count = 0;
      for (Ordinal device : about.accessed_by)
        if (count < size_bytes / sizeof(int)) words[count++] = device;
    } else if (attribute == 5 || attribute == 7) {
      *words = place == kNowhere ? 0 : place == kAtHost ? kAtHostType : kAtDevice;
    } else {
      *words = place;
    }
  });
}

}  // namespace

CU_API(cuPointerGetAttribute, (void *data, int attribute, Address address), (data, attribute, address)) {
  if (!driver().initialized) return kNotInitialized;
  return pointer_attribute(describe(address), attribute, data, true);
}
CU_API(cuPointerGetAttributes, (unsigned count, int *attributes, void **data, Address address),
       (count, attributes, data, address)) {
  if (!attributes || !data) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  const Pointer pointer = describe(address);
  for (unsigned i = 0; i < count; ++i) CU_TRY(pointer_attribute(pointer, attributes[i], data[i], false));
  return kSuccess;
}
CU_API(cuPointerSetAttribute, (const void *value, int attribute, Address address),
       (value, attribute, address)) {
  if (!value || attribute != 6 || !describe(address).known) return kInvalidValue;
  return kSuccess;  // SYNC_MEMOPS: copies of one memory are in order as it is
}

CU_API(cuMemAdvise, (Address address, size_t size_bytes, int advice, Ordinal device),
       (address, size_bytes, advice, device)) {
  return advise(address, size_bytes, advice, device);
}
CU_API(cuMemAdvise_v2, (Address address, size_t size_bytes, int advice, MemLocation location),
       (address, size_bytes, advice, location)) {
  return advise(address, size_bytes, advice, ordinal_of(location));
}
CU_STREAM_API(cuMemPrefetchAsync, _ptsz, (Address address, size_t size_bytes, Ordinal device, Handle stream),
              (address, size_bytes, device, stream)) {
  return prefetch(which, address, size_bytes, device, stream);
}
CU_STREAM_API(cuMemPrefetchAsync_v2, _ptsz,
              (Address address, size_t size_bytes, MemLocation location, unsigned flags, Handle stream),
              (address, size_bytes, location, flags, stream)) {
  return flags ? kInvalidValue : prefetch(which, address, size_bytes, ordinal_of(location), stream);
}
CU_API(cuMemRangeGetAttribute,
       (void *data, size_t size_bytes, int attribute, Address address, size_t range_bytes),
       (data, size_bytes, attribute, address, range_bytes)) {
  CU_CONTEXT(context);
  return range_attribute(data, size_bytes, attribute, address, range_bytes);
}
CU_API(cuMemRangeGetAttributes,
       (void **data, size_t *sizes_bytes, int *attributes, size_t count, Address address, size_t range_bytes),
       (data, sizes_bytes, attributes, count, address, range_bytes)) {
  CU_CONTEXT(context);
  if (!data || !sizes_bytes || !attributes || count == 0) return kInvalidValue;
  for (size_t i = 0; i < count; ++i)
    CU_TRY(range_attribute(data[i], sizes_bytes[i], attributes[i], address, range_bytes));
  return kSuccess;
}
CU_STREAM_API(cuStreamAttachMemAsync, _ptsz, (Handle stream, Address, size_t, unsigned), (stream, 0, 0, 0)) {
  CU_CONTEXT(context);
  return find_stream(*context, stream, which) ? kSuccess : kInvalidHandle;
}
