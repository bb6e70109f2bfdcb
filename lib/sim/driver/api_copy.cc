// Copies and fills, in all their shapes: each becomes one CopyWork or MemsetWork.
#include <cstring>

#include "lib/sim/driver/allocation.h"
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/work.h"

using namespace egpu::sim;

namespace {

enum class When { now, in_stream, source_now };  // the last: in the stream, but read at the call

Copy3D linear(size_t size_bytes) {
  Copy3D copy{};
  copy.width_bytes = size_bytes;
  copy.height = copy.depth = copy.from_height = copy.to_height = 1;
  copy.from_type = copy.to_type = kMemoryUnified;
  return copy;
}

bool is_pageable(int type, Address address) { return type == kMemoryHost && !is_pinned_host(address); }

// CUDA Driver API, "API synchronization behavior": pageable sources are copied aside before the
// call returns; pageable destinations are complete when it returns.
Status copy(DefaultStream which, Handle handle, When when, Copy3D params) {
  CU_CONTEXT(context);
  const std::shared_ptr<Stream> stream = find_stream(*context, when == When::now ? nullptr : handle, which);
  if (!stream) return kInvalidHandle;
  CU_TRY(check_copy(params));
  if (when == When::now) {
    CU_TRY(check_unsafe_call());
    CU_TRY(check_not_capturing(*stream));
  }
  if (params.width_bytes == 0 || params.height == 0 || params.depth == 0) return kSuccess;
  CopyWork work{params, nullptr};
  bool captured;
  {
    const std::lock_guard lock(context->order);
    captured = stream->capture != nullptr;
  }
  const bool waits = !captured && (when == When::now ||
                                   is_pageable(params.to_type, reinterpret_cast<Address>(params.to_host)));
  const bool is_read_now =
      when == When::source_now || is_pageable(params.from_type, reinterpret_cast<Address>(params.from_host));
  if (!captured && !waits && is_read_now && params.height == 1 && params.depth == 1) {
    const auto *base = params.from_type == kMemoryHost
                           ? static_cast<const unsigned char *>(params.from_host)
                           : reinterpret_cast<const unsigned char *>(params.from_device);
    const auto *from =
        base + params.from_x_bytes + (params.from_z * params.from_height + params.from_y) * params.from_pitch;
    work.staged = std::make_shared<std::vector<unsigned char>>(from, from + params.width_bytes);
  }
  std::shared_ptr<Fence> fence;
  CU_TRY(submit(*stream, std::move(work), &fence));
  const bool staged_many = is_pageable(params.from_type, reinterpret_cast<Address>(params.from_host)) &&
                           params.height * params.depth > 1;
  if (!fence || (!waits && !staged_many)) return kSuccess;
  fence->wait();
  return driver().status();
}

Status copy_linear(DefaultStream which, Handle stream, When when, int to_type, Address to, int from_type,
                   Address from, size_t size_bytes) {
  Copy3D params = linear(size_bytes);
  params.from_type = from_type;
  params.to_type = to_type;
  params.from_device = from;
  params.to_device = to;
  params.from_host = reinterpret_cast<const void *>(from);
  params.to_host = reinterpret_cast<void *>(to);
  return copy(which, stream, when, params);
}

// A row, or a part of one, with an array at one end or both: the end and its offset in bytes.
struct RowEnd {
  int type;
  Address address;  // in host or device memory
  Handle array;
  size_t x_bytes;
};
RowEnd in_host(const void *pointer) { return {kMemoryHost, reinterpret_cast<Address>(pointer), nullptr, 0}; }
RowEnd in_device(Address address) { return {kMemoryDevice, address, nullptr, 0}; }
RowEnd in_array(Handle array, size_t x_bytes) { return {kMemoryArray, 0, array, x_bytes}; }

Status copy_row(DefaultStream which, Handle stream, When when, const RowEnd &to, const RowEnd &from,
                size_t size_bytes) {
  Copy3D params = linear(size_bytes);
  params.from_type = from.type;
  params.from_device = from.address;
  params.from_host = reinterpret_cast<const void *>(from.address);
  params.from_array = from.array;
  params.from_x_bytes = from.x_bytes;
  params.to_type = to.type;
  params.to_device = to.address;
  params.to_host = reinterpret_cast<void *>(to.address);
  params.to_array = to.array;
  params.to_x_bytes = to.x_bytes;
  return copy(which, stream, when, params);
}

// Addresses are one space for all devices: no context is needed.
Copy3D without_contexts(const Copy3DPeer &peer) {
  return {peer.from_x_bytes, peer.from_y,      peer.from_z,      peer.from_lod, peer.from_type,
          peer.from_host,    peer.from_device, peer.from_array,  nullptr,       peer.from_pitch,
          peer.from_height,  peer.to_x_bytes,  peer.to_y,        peer.to_z,     peer.to_lod,
          peer.to_type,      peer.to_host,     peer.to_device,   peer.to_array, nullptr,
          peer.to_pitch,     peer.to_height,   peer.width_bytes, peer.height,   peer.depth};
}

Copy3D widened(const Copy2D &flat) {
  Copy3D copy{};
  copy.from_x_bytes = flat.from_x_bytes;
  copy.from_y = flat.from_y;
  copy.from_type = flat.from_type;
  copy.from_host = flat.from_host;
  copy.from_device = flat.from_device;
  copy.from_array = flat.from_array;
  copy.from_pitch = flat.from_pitch ? flat.from_pitch : flat.width_bytes;
  copy.from_height = flat.height;
  copy.to_x_bytes = flat.to_x_bytes;
  copy.to_y = flat.to_y;
  copy.to_type = flat.to_type;
  copy.to_host = flat.to_host;
  copy.to_device = flat.to_device;
  copy.to_array = flat.to_array;
  copy.to_pitch = flat.to_pitch ? flat.to_pitch : flat.width_bytes;
  copy.to_height = flat.height;
  copy.width_bytes = flat.width_bytes;
  copy.height = flat.height;
  copy.depth = 1;
  return copy;
}

Status fill(DefaultStream which, Handle handle, When when, Address to, size_t pitch, unsigned value,
            unsigned element_bytes, size_t width, size_t height) {
  CU_CONTEXT(context);
  const std::shared_ptr<Stream> stream = find_stream(*context, when == When::now ? nullptr : handle, which);
  if (!stream) return kInvalidHandle;
  const MemsetNodeParams params{to, pitch, value, element_bytes, width, height};
  CU_TRY(check_memset(params));
  if (when == When::now) {
    CU_TRY(check_unsafe_call());
    CU_TRY(check_not_capturing(*stream));
  }
  if (width == 0 || height == 0) return kSuccess;
  std::shared_ptr<Fence> fence;
  CU_TRY(submit(*stream, MemsetWork{params}, &fence));
  if (when == When::in_stream || !fence) return kSuccess;
  fence->wait();
  return driver().status();
}

// Of a batch: each range of copies has attributes, the first begins at the first copy.
Status check_batch(const CopyAttributes *attributes, const size_t *first, size_t ranges, size_t count) {
  if (!attributes || !first || ranges == 0 || ranges > count || first[0] != 0) return kInvalidValue;
  for (size_t i = 0; i < ranges; ++i) {
    if (attributes[i].source_order < kSourceInStream || attributes[i].source_order > kSourceAnyTime)
      return kInvalidValue;
    if (first[i] >= count || (i > 0 && first[i] <= first[i - 1])) return kInvalidValue;
  }
  return kSuccess;
}

Address address_of(const void *pointer) { return reinterpret_cast<Address>(pointer); }

}  // namespace

CU_STREAM_API(cuMemcpy, _ptds, (Address to, Address from, size_t size_bytes), (to, from, size_bytes)) {
  return copy_linear(which, nullptr, When::now, kMemoryUnified, to, kMemoryUnified, from, size_bytes);
}
CU_STREAM_API(cuMemcpyAsync, _ptsz, (Address to, Address from, size_t size_bytes, Handle stream),
              (to, from, size_bytes, stream)) {
  return copy_linear(which, stream, When::in_stream, kMemoryUnified, to, kMemoryUnified, from, size_bytes);
}
CU_STREAM_API(cuMemcpyHtoD_v2, _ptds, (Address to, const void *from, size_t size_bytes),
              (to, from, size_bytes)) {
  return copy_linear(which, nullptr, When::now, kMemoryDevice, to, kMemoryHost, address_of(from), size_bytes);
}
CU_STREAM_API(cuMemcpyHtoDAsync_v2, _ptsz, (Address to, const void *from, size_t size_bytes, Handle stream),
              (to, from, size_bytes, stream)) {
  return copy_linear(which, stream, When::in_stream, kMemoryDevice, to, kMemoryHost, address_of(from),
                     size_bytes);
}
CU_STREAM_API(cuMemcpyDtoH_v2, _ptds, (void *to, Address from, size_t size_bytes), (to, from, size_bytes)) {
  return copy_linear(which, nullptr, When::now, kMemoryHost, address_of(to), kMemoryDevice, from, size_bytes);
}
CU_STREAM_API(cuMemcpyDtoHAsync_v2, _ptsz, (void *to, Address from, size_t size_bytes, Handle stream),
              (to, from, size_bytes, stream)) {
  return copy_linear(which, stream, When::in_stream, kMemoryHost, address_of(to), kMemoryDevice, from,
                     size_bytes);
}
CU_STREAM_API(cuMemcpyDtoD_v2, _ptds, (Address to, Address from, size_t size_bytes), (to, from, size_bytes)) {
  return copy_linear(which, nullptr, When::now, kMemoryDevice, to, kMemoryDevice, from, size_bytes);
}
CU_STREAM_API(cuMemcpyDtoDAsync_v2, _ptsz, (Address to, Address from, size_t size_bytes, Handle stream),
              (to, from, size_bytes, stream)) {
  return copy_linear(which, stream, When::in_stream, kMemoryDevice, to, kMemoryDevice, from, size_bytes);
}
CU_STREAM_API(cuMemcpyPeer, _ptds, (Address to, Handle, Address from, Handle, size_t size_bytes),
              (to, nullptr, from, nullptr, size_bytes)) {
  return copy_linear(which, nullptr, When::now, kMemoryDevice, to, kMemoryDevice, from, size_bytes);
}
CU_STREAM_API(cuMemcpyPeerAsync, _ptsz,
              (Address to, Handle, Address from, Handle, size_t size_bytes, Handle stream),
              (to, nullptr, from, nullptr, size_bytes, stream)) {
  return copy_linear(which, stream, When::in_stream, kMemoryDevice, to, kMemoryDevice, from, size_bytes);
}

CU_STREAM_API(cuMemcpy2D_v2, _ptds, (const Copy2D *params), (params)) {
  return params ? copy(which, nullptr, When::now, widened(*params)) : kInvalidValue;
}
CU_STREAM_API(cuMemcpy2DUnaligned_v2, _ptds, (const Copy2D *params), (params)) {
  return params ? copy(which, nullptr, When::now, widened(*params)) : kInvalidValue;
}
CU_STREAM_API(cuMemcpy2DAsync_v2, _ptsz, (const Copy2D *params, Handle stream), (params, stream)) {
  return params ? copy(which, stream, When::in_stream, widened(*params)) : kInvalidValue;
}
CU_STREAM_API(cuMemcpy3D_v2, _ptds, (const Copy3D *params), (params)) {
  return params ? copy(which, nullptr, When::now, *params) : kInvalidValue;
}
CU_STREAM_API(cuMemcpy3DAsync_v2, _ptsz, (const Copy3D *params, Handle stream), (params, stream)) {
  return params ? copy(which, stream, When::in_stream, *params) : kInvalidValue;
}

CU_STREAM_API(cuMemcpy3DPeer, _ptds, (const Copy3DPeer *params), (params)) {
  return params ? copy(which, nullptr, When::now, without_contexts(*params)) : kInvalidValue;
}
CU_STREAM_API(cuMemcpy3DPeerAsync, _ptsz, (const Copy3DPeer *params, Handle stream), (params, stream)) {
  return params ? copy(which, stream, When::in_stream, without_contexts(*params)) : kInvalidValue;
}

CU_STREAM_API(cuMemcpyDtoA_v2, _ptds, (Handle to, size_t x_bytes, Address from, size_t size_bytes),
              (to, x_bytes, from, size_bytes)) {
  return copy_row(which, nullptr, When::now, in_array(to, x_bytes), in_device(from), size_bytes);
}
CU_STREAM_API(cuMemcpyAtoD_v2, _ptds, (Address to, Handle from, size_t x_bytes, size_t size_bytes),
              (to, from, x_bytes, size_bytes)) {
  return copy_row(which, nullptr, When::now, in_device(to), in_array(from, x_bytes), size_bytes);
}
CU_STREAM_API(cuMemcpyHtoA_v2, _ptds, (Handle to, size_t x_bytes, const void *from, size_t size_bytes),
              (to, x_bytes, from, size_bytes)) {
  return copy_row(which, nullptr, When::now, in_array(to, x_bytes), in_host(from), size_bytes);
}
CU_STREAM_API(cuMemcpyHtoAAsync_v2, _ptsz,
              (Handle to, size_t x_bytes, const void *from, size_t size_bytes, Handle stream),
              (to, x_bytes, from, size_bytes, stream)) {
  return copy_row(which, stream, When::in_stream, in_array(to, x_bytes), in_host(from), size_bytes);
}
CU_STREAM_API(cuMemcpyAtoH_v2, _ptds, (void *to, Handle from, size_t x_bytes, size_t size_bytes),
              (to, from, x_bytes, size_bytes)) {
  return copy_row(which, nullptr, When::now, in_host(to), in_array(from, x_bytes), size_bytes);
}
CU_STREAM_API(cuMemcpyAtoHAsync_v2, _ptsz,
              (void *to, Handle from, size_t x_bytes, size_t size_bytes, Handle stream),
              (to, from, x_bytes, size_bytes, stream)) {
  return copy_row(which, stream, When::in_stream, in_host(to), in_array(from, x_bytes), size_bytes);
}
CU_STREAM_API(cuMemcpyAtoA_v2, _ptds,
              (Handle to, size_t to_x_bytes, Handle from, size_t from_x_bytes, size_t size_bytes),
              (to, to_x_bytes, from, from_x_bytes, size_bytes)) {
  return copy_row(which, nullptr, When::now, in_array(to, to_x_bytes), in_array(from, from_x_bytes),
                  size_bytes);
}

CU_STREAM_API(cuMemcpyBatchAsync_v2, _ptsz,
              (const Address *to, const Address *from, const size_t *sizes, size_t count,
               const CopyAttributes *attributes, const size_t *first, size_t ranges, Handle stream),
              (to, from, sizes, count, attributes, first, ranges, stream)) {
  if (!to || !from || !sizes || count == 0) return kInvalidValue;
  CU_TRY(check_batch(attributes, first, ranges, count));
  if (stream == kLegacyStream || (!stream && which == DefaultStream::legacy)) return kInvalidValue;
  for (size_t i = 0, range = 0; i < count; ++i) {
    if (range + 1 < ranges && first[range + 1] == i) ++range;
    const When when =
        attributes[range].source_order == kSourceDuringCall ? When::source_now : When::in_stream;
    CU_TRY(copy_linear(which, stream, when, kMemoryUnified, to[i], kMemoryUnified, from[i], sizes[i]));
  }
  return kSuccess;
}

// Fills: name, twin's suffix, element type and size.
#define FILL(bits, type)                                                                                   \
  CU_STREAM_API(cuMemsetD##bits##_v2, _ptds, (Address to, type value, size_t count), (to, value, count)) { \
    return fill(which, nullptr, When::now, to, 0, value, sizeof(type), count, 1);                          \
  }                                                                                                        \
  CU_STREAM_API(cuMemsetD##bits##Async, _ptsz, (Address to, type value, size_t count, Handle stream),      \
                (to, value, count, stream)) {                                                              \
    return fill(which, stream, When::in_stream, to, 0, value, sizeof(type), count, 1);                     \
  }                                                                                                        \
  CU_STREAM_API(cuMemsetD2D##bits##_v2, _ptds,                                                             \
                (Address to, size_t pitch, type value, size_t width, size_t height),                       \
                (to, pitch, value, width, height)) {                                                       \
    return fill(which, nullptr, When::now, to, pitch, value, sizeof(type), width, height);                 \
  }                                                                                                        \
  CU_STREAM_API(cuMemsetD2D##bits##Async, _ptsz,                                                           \
                (Address to, size_t pitch, type value, size_t width, size_t height, Handle stream),        \
                (to, pitch, value, width, height, stream)) {                                               \
    return fill(which, stream, When::in_stream, to, pitch, value, sizeof(type), width, height);            \
  }
FILL(8, unsigned char)
FILL(16, unsigned short)
FILL(32, unsigned)
