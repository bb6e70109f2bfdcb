// Copies and fills. A per-thread twin of a synchronous call is the asynchronous one on the
// thread's stream, then a wait for that stream.
#include "lib/sim/runtime/copy.h"
#include "lib/sim/runtime/export.h"
#include "lib/sim/runtime/registry.h"

namespace egpu::rt {
namespace {

Address address_of(const void *pointer) { return reinterpret_cast<Address>(pointer); }

int memory_type(int kind, bool is_host) {
  return kind == kInferred ? kUnifiedMemory : is_host ? kHostMemory : kDeviceMemory;
}
// Positions in an array, and the width of a copy that an array takes part in, are in elements.
int element_bytes_or_one(Handle array, size_t *size_bytes) {
  *size_bytes = 1;
  return array ? element_bytes_of(array, size_bytes) : kOk;
}

}  // namespace

int from_type(int kind) { return memory_type(kind, kind == kHostToHost || kind == kHostToDevice); }
int to_type(int kind) { return memory_type(kind, kind == kHostToHost || kind == kDeviceToHost); }

int copy(void *to, const void *from, size_t size_bytes, int kind, bool is_async, Handle stream) {
  RT_TRY(ensure_context());
  if (kind < kHostToHost || kind > kInferred) return kInvalidDirection;
  if (size_bytes == 0) return kOk;
  const Address to_address = address_of(to), from_address = address_of(from);
  switch (kind) {
    case kHostToDevice:
      return is_async ? cuMemcpyHtoDAsync_v2(to_address, from, size_bytes, stream)
                      : cuMemcpyHtoD_v2(to_address, from, size_bytes);
    case kDeviceToHost:
      return is_async ? cuMemcpyDtoHAsync_v2(to, from_address, size_bytes, stream)
                      : cuMemcpyDtoH_v2(to, from_address, size_bytes);
    case kDeviceToDevice:
      return is_async ? cuMemcpyDtoDAsync_v2(to_address, from_address, size_bytes, stream)
                      : cuMemcpyDtoD_v2(to_address, from_address, size_bytes);
    case kHostToHost: {
      Copy3D row;
      RT_TRY(row_copy(to, from, size_bytes, kind, &row));
      return is_async ? cuMemcpy3DAsync_v2(&row, stream) : cuMemcpy3D_v2(&row);
    }
    default:
      return is_async ? cuMemcpyAsync(to_address, from_address, size_bytes, stream)
                      : cuMemcpy(to_address, from_address, size_bytes);
  }
}

int convert_copy(const Copy3DParameters *parameters, Copy3D *converted) {
  if (!parameters) return kInvalidValue;
  if (parameters->kind < kHostToHost || parameters->kind > kInferred) return kInvalidDirection;
  const Handle from_array = parameters->from_array, to_array = parameters->to_array;
  if (from_array && from_type(parameters->kind) == kHostMemory) return kInvalidDirection;
  if (to_array && to_type(parameters->kind) == kHostMemory) return kInvalidDirection;
  size_t from_element = 1, to_element = 1;
  RT_TRY(element_bytes_or_one(from_array, &from_element));
  RT_TRY(element_bytes_or_one(to_array, &to_element));
  *converted = {};
  const PitchedPointer &from = parameters->from, &to = parameters->to;
  converted->from_x_bytes = parameters->from_position.x * from_element;
  converted->from_y = parameters->from_position.y;
  converted->from_z = parameters->from_position.z;
  converted->from_type = from_array ? kArrayMemory : from_type(parameters->kind);
  converted->from_array = from_array;
  converted->from_host = from.pointer;
  converted->from_device = address_of(from.pointer);
  converted->from_pitch = from.pitch;
  converted->from_height = from.height;
  converted->to_x_bytes = parameters->to_position.x * to_element;
  converted->to_y = parameters->to_position.y;
  converted->to_z = parameters->to_position.z;
  converted->to_type = to_array ? kArrayMemory : to_type(parameters->kind);
  converted->to_array = to_array;
  converted->to_host = to.pointer;
  converted->to_device = address_of(to.pointer);
  converted->to_pitch = to.pitch;
  converted->to_height = to.height;
  converted->width_bytes = parameters->extent.width * (from_array ? from_element : to_element);
  converted->height = parameters->extent.height;
  converted->depth = parameters->extent.depth;
  return kOk;
}

int row_copy(void *to, const void *from, size_t size_bytes, int kind, Copy3D *converted) {
  const Copy3DParameters row{nullptr,
                             {},
                             {const_cast<void *>(from), size_bytes, size_bytes, 1},
                             nullptr,
                             {},
                             {to, size_bytes, size_bytes, 1},
                             {size_bytes, 1, 1},
                             kind};
  return convert_copy(&row, converted);
}

int convert_back(const Copy3D &copy, Copy3DParameters *parameters) {
  const Handle from_array = copy.from_type == kArrayMemory ? copy.from_array : nullptr,
               to_array = copy.to_type == kArrayMemory ? copy.to_array : nullptr;
  size_t from_element = 1, to_element = 1;
  RT_TRY(element_bytes_or_one(from_array, &from_element));
  RT_TRY(element_bytes_or_one(to_array, &to_element));
  const bool from_host = copy.from_type == kHostMemory, to_host = copy.to_type == kHostMemory;
  void *const from = from_array  ? nullptr
                     : from_host ? const_cast<void *>(copy.from_host)
                                 : reinterpret_cast<void *>(copy.from_device);
  void *const to = to_array ? nullptr : to_host ? copy.to_host : reinterpret_cast<void *>(copy.to_device);
  const bool is_inferred = copy.from_type == kUnifiedMemory || copy.to_type == kUnifiedMemory;
  *parameters = {from_array,
                 {copy.from_x_bytes / from_element, copy.from_y, copy.from_z},
                 {from, copy.from_pitch, copy.from_pitch, copy.from_height},
                 to_array,
                 {copy.to_x_bytes / to_element, copy.to_y, copy.to_z},
                 {to, copy.to_pitch, copy.to_pitch, copy.to_height},
                 {copy.width_bytes / (from_array ? from_element : to_element), copy.height, copy.depth},
                 is_inferred ? kInferred
                 : from_host ? (to_host ? kHostToHost : kHostToDevice)
                             : (to_host ? kDeviceToHost : kDeviceToDevice)};
  return kOk;
}

int symbol_range(const void *symbol, size_t size_bytes, size_t offset, char **address) {
  size_t has_bytes = 0;
  Address base = 0;
  RT_TRY(ensure_context());
  RT_TRY(find_variable(symbol, &base, &has_bytes));
  if (offset > has_bytes || size_bytes > has_bytes - offset) return kInvalidValue;
  *address = reinterpret_cast<char *>(base + offset);
  return kOk;
}

namespace {

int copy_3d(const Copy3DParameters *parameters, bool is_async, Handle stream) {
  Copy3D converted;
  RT_TRY(ensure_context());
  RT_TRY(convert_copy(parameters, &converted));
  if (!converted.width_bytes || !converted.height || !converted.depth) return kOk;
  return is_async ? cuMemcpy3DAsync_v2(&converted, stream) : cuMemcpy3D_v2(&converted);
}

int copy_2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
            int kind, bool is_async, Handle stream) {
  if (width > to_pitch || width > from_pitch) return 12;  // cudaErrorInvalidPitchValue
  const Copy3DParameters rows{nullptr,
                              {},
                              {const_cast<void *>(from), from_pitch, width, height},
                              nullptr,
                              {},
                              {to, to_pitch, width, height},
                              {width, height, 1},
                              kind};
  return copy_3d(&rows, is_async, stream);
}

int fill(void *to, int value, size_t size_bytes, bool is_async, Handle stream) {
  RT_TRY(ensure_context());
  if (size_bytes == 0) return kOk;
  const auto byte = static_cast<unsigned char>(value);
  return is_async ? cuMemsetD8Async(address_of(to), byte, size_bytes, stream)
                  : cuMemsetD8_v2(address_of(to), byte, size_bytes);
}

int fill_2d(void *to, size_t pitch, int value, size_t width, size_t height, bool is_async, Handle stream) {
  RT_TRY(ensure_context());
  if (!width || !height) return kOk;
  const auto byte = static_cast<unsigned char>(value);
  return is_async ? cuMemsetD2D8Async(address_of(to), pitch, byte, width, height, stream)
                  : cuMemsetD2D8_v2(address_of(to), pitch, byte, width, height);
}

// Slices are pitch * height apart.
int fill_3d(const PitchedPointer &to, int value, const Extent &extent, bool is_async, Handle stream) {
  RT_TRY(ensure_context());
  for (size_t z = 0; z < extent.depth; ++z)
    RT_TRY(fill_2d(static_cast<char *>(to.pointer) + z * to.pitch * to.height, to.pitch, value, extent.width,
                   extent.height, is_async, stream));
  return kOk;
}

int copy_to_symbol(const void *symbol, const void *from, size_t size_bytes, size_t offset, int kind,
                   bool is_async, Handle stream) {
  char *to = nullptr;
  if (kind != kHostToDevice && kind != kDeviceToDevice && kind != kInferred) return kInvalidDirection;
  RT_TRY(symbol_range(symbol, size_bytes, offset, &to));
  return copy(to, from, size_bytes, kind, is_async, stream);
}
int copy_from_symbol(void *to, const void *symbol, size_t size_bytes, size_t offset, int kind, bool is_async,
                     Handle stream) {
  char *from = nullptr;
  if (kind != kDeviceToHost && kind != kDeviceToDevice && kind != kInferred) return kInvalidDirection;
  RT_TRY(symbol_range(symbol, size_bytes, offset, &from));
  return copy(to, from, size_bytes, kind, is_async, stream);
}

int peer_copy(void *to, Ordinal to_device, const void *from, Ordinal from_device, size_t size_bytes,
              bool is_async, Handle stream) {
  Handle to_context = nullptr, from_context = nullptr;
  RT_TRY(ensure_context());
  RT_TRY(primary_context(to_device, &to_context));
  RT_TRY(primary_context(from_device, &from_context));
  if (size_bytes == 0) return kOk;
  return is_async ? cuMemcpyPeerAsync(address_of(to), to_context, address_of(from), from_context, size_bytes,
                                      stream)
                  : cuMemcpyPeer(address_of(to), to_context, address_of(from), from_context, size_bytes);
}

int peer_copy_3d(const PeerCopy3DParameters *parameters, bool is_async, Handle stream) {
  if (!parameters) return kInvalidValue;
  RT_TRY(ensure_context());
  const Handle from_array = parameters->from_array, to_array = parameters->to_array;
  size_t from_element = 1, to_element = 1;
  RT_TRY(element_bytes_or_one(from_array, &from_element));
  RT_TRY(element_bytes_or_one(to_array, &to_element));
  egpu::sim::Copy3DPeer copy{};
  RT_TRY(primary_context(parameters->from_device, &copy.from_context));
  RT_TRY(primary_context(parameters->to_device, &copy.to_context));
  const PitchedPointer &from = parameters->from, &to = parameters->to;
  copy.from_x_bytes = parameters->from_position.x * from_element;
  copy.from_y = parameters->from_position.y;
  copy.from_z = parameters->from_position.z;
  copy.from_type = from_array ? kArrayMemory : kDeviceMemory;
  copy.from_array = from_array;
  copy.to_type = to_array ? kArrayMemory : kDeviceMemory;
  copy.to_array = to_array;
  copy.from_device = address_of(from.pointer);
  copy.from_pitch = from.pitch;
  copy.from_height = from.height;
  copy.to_x_bytes = parameters->to_position.x * to_element;
  copy.to_y = parameters->to_position.y;
  copy.to_z = parameters->to_position.z;
  copy.to_device = address_of(to.pointer);
  copy.to_pitch = to.pitch;
  copy.to_height = to.height;
  copy.width_bytes = parameters->extent.width * (from_array ? from_element : to_element);
  copy.height = parameters->extent.height;
  copy.depth = parameters->extent.depth;
  return is_async ? cuMemcpy3DPeerAsync(&copy, stream) : cuMemcpy3DPeer(&copy);
}

}  // namespace
}  // namespace egpu::rt

using namespace egpu::rt;

RT_STREAM_API(cudaMemcpy, _ptds, (void *to, const void *from, size_t size_bytes, int kind),
              (to, from, size_bytes, kind)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy(to, from, size_bytes, kind, is_async, stream);
  });
}
RT_STREAM_API(cudaMemcpyAsync, _ptsz,
              (void *to, const void *from, size_t size_bytes, int kind, Handle stream),
              (to, from, size_bytes, kind, stream)) {
  return copy(to, from, size_bytes, kind, true, which(stream));
}
RT_STREAM_API(cudaMemcpyToSymbol, _ptds,
              (const void *symbol, const void *from, size_t size_bytes, size_t offset, int kind),
              (symbol, from, size_bytes, offset, kind)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy_to_symbol(symbol, from, size_bytes, offset, kind, is_async, stream);
  });
}
RT_STREAM_API(cudaMemcpyToSymbolAsync, _ptsz,
              (const void *symbol, const void *from, size_t size_bytes, size_t offset, int kind,
               Handle stream),
              (symbol, from, size_bytes, offset, kind, stream)) {
  return copy_to_symbol(symbol, from, size_bytes, offset, kind, true, which(stream));
}
RT_STREAM_API(cudaMemcpyFromSymbol, _ptds,
              (void *to, const void *symbol, size_t size_bytes, size_t offset, int kind),
              (to, symbol, size_bytes, offset, kind)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy_from_symbol(to, symbol, size_bytes, offset, kind, is_async, stream);
  });
}
RT_STREAM_API(cudaMemcpyFromSymbolAsync, _ptsz,
              (void *to, const void *symbol, size_t size_bytes, size_t offset, int kind, Handle stream),
              (to, symbol, size_bytes, offset, kind, stream)) {
  return copy_from_symbol(to, symbol, size_bytes, offset, kind, true, which(stream));
}
RT_STREAM_API(cudaMemcpy2D, _ptds,
              (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
               int kind),
              (to, to_pitch, from, from_pitch, width, height, kind)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, is_async, stream);
  });
}
RT_STREAM_API(cudaMemcpy2DAsync, _ptsz,
              (void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
               int kind, Handle stream),
              (to, to_pitch, from, from_pitch, width, height, kind, stream)) {
  return copy_2d(to, to_pitch, from, from_pitch, width, height, kind, true, which(stream));
}
RT_STREAM_API(cudaMemcpy3D, _ptds, (const Copy3DParameters *parameters), (parameters)) {
  return run_synchronously(
      which, [&](bool is_async, Handle stream) { return copy_3d(parameters, is_async, stream); });
}
RT_STREAM_API(cudaMemcpy3DAsync, _ptsz, (const Copy3DParameters *parameters, Handle stream),
              (parameters, stream)) {
  return copy_3d(parameters, true, which(stream));
}
RT_API(cudaMemcpyPeer,
       (void *to, Ordinal to_device, const void *from, Ordinal from_device, size_t size_bytes),
       (to, to_device, from, from_device, size_bytes)) {
  return peer_copy(to, to_device, from, from_device, size_bytes, false, nullptr);
}
RT_API(cudaMemcpyPeerAsync,
       (void *to, Ordinal to_device, const void *from, Ordinal from_device, size_t size_bytes, Handle stream),
       (to, to_device, from, from_device, size_bytes, stream)) {
  return peer_copy(to, to_device, from, from_device, size_bytes, true, stream);
}
RT_STREAM_API(cudaMemcpy3DPeer, _ptds, (const PeerCopy3DParameters *parameters), (parameters)) {
  return run_synchronously(
      which, [&](bool is_async, Handle stream) { return peer_copy_3d(parameters, is_async, stream); });
}
RT_STREAM_API(cudaMemcpy3DPeerAsync, _ptsz, (const PeerCopy3DParameters *parameters, Handle stream),
              (parameters, stream)) {
  return peer_copy_3d(parameters, true, which(stream));
}

RT_STREAM_FORWARD(cudaMemcpyBatchAsync, cuMemcpyBatchAsync_v2,
                  (const Address *to, const Address *from, const size_t *sizes, size_t count,
                   const void *attributes, const size_t *first, size_t ranges, Handle stream),
                  (to, from, sizes, count, attributes, first, ranges, which(stream)))

RT_STREAM_API(cudaMemset, _ptds, (void *to, int value, size_t size_bytes), (to, value, size_bytes)) {
  return run_synchronously(
      which, [&](bool is_async, Handle stream) { return fill(to, value, size_bytes, is_async, stream); });
}
RT_STREAM_API(cudaMemsetAsync, _ptsz, (void *to, int value, size_t size_bytes, Handle stream),
              (to, value, size_bytes, stream)) {
  return fill(to, value, size_bytes, true, which(stream));
}
RT_STREAM_API(cudaMemset2D, _ptds, (void *to, size_t pitch, int value, size_t width, size_t height),
              (to, pitch, value, width, height)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return fill_2d(to, pitch, value, width, height, is_async, stream);
  });
}
RT_STREAM_API(cudaMemset2DAsync, _ptsz,
              (void *to, size_t pitch, int value, size_t width, size_t height, Handle stream),
              (to, pitch, value, width, height, stream)) {
  return fill_2d(to, pitch, value, width, height, true, which(stream));
}
RT_STREAM_API(cudaMemset3D, _ptds, (PitchedPointer to, int value, Extent extent), (to, value, extent)) {
  return run_synchronously(
      which, [&](bool is_async, Handle stream) { return fill_3d(to, value, extent, is_async, stream); });
}
RT_STREAM_API(cudaMemset3DAsync, _ptsz, (PitchedPointer to, int value, Extent extent, Handle stream),
              (to, value, extent, stream)) {
  return fill_3d(to, value, extent, true, which(stream));
}
