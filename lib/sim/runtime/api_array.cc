// Arrays: making them, asking about them, and the copies that name them.
#include <algorithm>

#include "lib/sim/runtime/copy.h"
#include "lib/sim/runtime/export.h"

namespace egpu::rt {
namespace {

// CUarray_format by cudaChannelFormatKind (signed, unsigned, float) and bytes of a channel (1, 2, 4).
constexpr int kFormats[3][3] = {{0x08, 0x09, 0x0a}, {0x01, 0x02, 0x03}, {0, 0x10, 0x20}};

int descriptor_of(const ChannelFormat &channels, const Extent &extent, unsigned flags,
                  ArrayDescriptor *made) {
  const int bits[4] = {channels.x, channels.y, channels.z, channels.w};
  unsigned count = 0;
  while (count < 4 && bits[count]) ++count;
  if (count == 3) return kInvalidChannels;
  for (unsigned i = 0; i < 4; ++i)
    if (bits[i] != (i < count ? bits[0] : 0)) return kInvalidChannels;
  const int size = bits[0] == 8 ? 0 : bits[0] == 16 ? 1 : bits[0] == 32 ? 2 : -1;
  if (size < 0 || channels.kind < 0 || channels.kind > 2 || !kFormats[channels.kind][size])
    return kInvalidChannels;
  *made = {extent.width, extent.height, extent.depth, kFormats[channels.kind][size], count, flags};
  return kOk;
}

int channels_of(const ArrayDescriptor &descriptor, ChannelFormat *channels) {
  for (int kind = 0; kind < 3; ++kind)
    for (int size = 0; size < 3; ++size) {
      if (kFormats[kind][size] != descriptor.format) continue;
      const int bits = 8 << size;
      *channels = {bits, descriptor.channels > 1 ? bits : 0, descriptor.channels > 2 ? bits : 0,
                   descriptor.channels > 3 ? bits : 0, kind};
      return kOk;
    }
  return kNotSupported;
}

int allocate_array(Handle *array, const ChannelFormat *channels, const Extent &extent, unsigned flags) {
  if (!array || !channels) return kInvalidValue;
  ArrayDescriptor descriptor;
  RT_TRY(ensure_context());
  RT_TRY(descriptor_of(*channels, extent, flags, &descriptor));
  return cuArray3DCreate_v2(array, &descriptor);
}

int describe(Handle array, ArrayDescriptor *descriptor) {
  RT_TRY(ensure_context());
  if (!array) return kInvalidResourceHandle;
  return cuArray3DGetDescriptor_v2(descriptor, array);
}

// Where a copy of rows begins: in an array, or in memory with a pitch.
struct RowsAt {
  Handle array;
  size_t x_bytes, y;
  const void *pointer;
  size_t pitch;
};

int copy_rows(const RowsAt &to, const RowsAt &from, size_t width_bytes, size_t height, int kind,
              bool is_async, Handle stream) {
  RT_TRY(ensure_context());
  if (kind < kHostToHost || kind > kInferred) return kInvalidDirection;
  if (!width_bytes || !height) return kOk;
  Copy3D copy{};
  copy.from_type = from.array ? kArrayMemory : from_type(kind);
  copy.from_array = from.array;
  copy.from_x_bytes = from.x_bytes;
  copy.from_y = from.y;
  copy.from_host = from.pointer;
  copy.from_device = reinterpret_cast<Address>(from.pointer);
  copy.from_pitch = from.pitch;
  copy.from_height = height;
  copy.to_type = to.array ? kArrayMemory : to_type(kind);
  copy.to_array = to.array;
  copy.to_x_bytes = to.x_bytes;
  copy.to_y = to.y;
  copy.to_host = const_cast<void *>(to.pointer);
  copy.to_device = reinterpret_cast<Address>(to.pointer);
  copy.to_pitch = to.pitch;
  copy.to_height = height;
  copy.width_bytes = width_bytes;
  copy.height = height;
  copy.depth = 1;
  return is_async ? cuMemcpy3DAsync_v2(&copy, stream) : cuMemcpy3D_v2(&copy);
}

int copy_to_array(Handle array, size_t x_bytes, size_t y, const void *from, size_t pitch, size_t width_bytes,
                  size_t height, int kind, bool is_async, Handle stream) {
  if (!array) return kInvalidResourceHandle;
  return copy_rows({array, x_bytes, y, nullptr, 0}, {nullptr, 0, 0, from, pitch}, width_bytes, height, kind,
                   is_async, stream);
}

int copy_from_array(void *to, size_t pitch, Handle array, size_t x_bytes, size_t y, size_t width_bytes,
                    size_t height, int kind, bool is_async, Handle stream) {
  if (!array) return kInvalidResourceHandle;
  return copy_rows({nullptr, 0, 0, to, pitch}, {array, x_bytes, y, nullptr, 0}, width_bytes, height, kind,
                   is_async, stream);
}

// So many bytes from a place in an array on, over the ends of rows: `copy_piece(x_bytes, y, offset,
// row_bytes, rows)` for the rest of the first row, whole rows, and what is left.
template <class CopyPiece>
int for_each_piece(Handle array, size_t x_bytes, size_t y, size_t size_bytes, CopyPiece copy_piece) {
  ArrayDescriptor descriptor;
  size_t element_bytes = 0;
  RT_TRY(describe(array, &descriptor));
  RT_TRY(element_bytes_of(array, &element_bytes));
  const size_t row_bytes = descriptor.width * element_bytes;
  if (x_bytes > row_bytes) return kInvalidValue;
  for (size_t done = 0; done < size_bytes;) {
    const size_t left = size_bytes - done;
    const bool is_whole = x_bytes == 0 && left >= row_bytes;
    const size_t rows = is_whole ? left / row_bytes : 1;
    const size_t width_bytes = is_whole ? row_bytes : std::min(left, row_bytes - x_bytes);
    RT_TRY(copy_piece(x_bytes, y, done, width_bytes, rows));
    done += width_bytes * rows;
    x_bytes = 0;
    y += rows;
  }
  return kOk;
}

int copy_run_to_array(Handle array, size_t x_bytes, size_t y, const void *from, size_t size_bytes, int kind,
                      bool is_async, Handle stream) {
  return for_each_piece(array, x_bytes, y, size_bytes,
                        [&](size_t x, size_t row, size_t offset, size_t width, size_t rows) {
                          return copy_to_array(array, x, row, static_cast<const char *>(from) + offset, width,
                                               width, rows, kind, is_async, stream);
                        });
}

int copy_run_from_array(void *to, Handle array, size_t x_bytes, size_t y, size_t size_bytes, int kind,
                        bool is_async, Handle stream) {
  return for_each_piece(array, x_bytes, y, size_bytes,
                        [&](size_t x, size_t row, size_t offset, size_t width, size_t rows) {
                          return copy_from_array(static_cast<char *>(to) + offset, width, array, x, row,
                                                 width, rows, kind, is_async, stream);
                        });
}

}  // namespace

int element_bytes_of(Handle array, size_t *size_bytes) {
  ArrayDescriptor descriptor;
  ChannelFormat channels{};
  RT_TRY(describe(array, &descriptor));
  RT_TRY(channels_of(descriptor, &channels));
  *size_bytes = static_cast<size_t>(channels.x / 8) * descriptor.channels;
  return kOk;
}

}  // namespace egpu::rt

using namespace egpu::rt;

RT_API(cudaMallocArray,
       (Handle * array, const ChannelFormat *channels, size_t width, size_t height, unsigned flags),
       (array, channels, width, height, flags)) {
  return allocate_array(array, channels, {width, height, 0}, flags);
}
RT_API(cudaMalloc3DArray, (Handle * array, const ChannelFormat *channels, Extent extent, unsigned flags),
       (array, channels, extent, flags)) {
  return allocate_array(array, channels, extent, flags);
}
RT_API(cudaFreeArray, (Handle array), (array)) {
  RT_TRY(ensure_context());
  return array ? cuArrayDestroy(array) : kOk;
}
RT_API(cudaArrayGetInfo, (ChannelFormat * channels, Extent *extent, unsigned *flags, Handle array),
       (channels, extent, flags, array)) {
  ArrayDescriptor descriptor;
  RT_TRY(describe(array, &descriptor));
  if (channels) RT_TRY(channels_of(descriptor, channels));
  if (extent) *extent = {descriptor.width, descriptor.height, descriptor.depth};
  if (flags) *flags = descriptor.flags;
  return kOk;
}
RT_API(cudaGetChannelDesc, (ChannelFormat * channels, Handle array), (channels, array)) {
  if (!channels) return kInvalidValue;
  ArrayDescriptor descriptor;
  RT_TRY(describe(array, &descriptor));
  return channels_of(descriptor, channels);
}

RT_STREAM_API(cudaMemcpy2DToArray, _ptds,
              (Handle to, size_t x_bytes, size_t y, const void *from, size_t pitch, size_t width,
               size_t height, int kind),
              (to, x_bytes, y, from, pitch, width, height, kind)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy_to_array(to, x_bytes, y, from, pitch, width, height, kind, is_async, stream);
  });
}
RT_STREAM_API(cudaMemcpy2DToArrayAsync, _ptsz,
              (Handle to, size_t x_bytes, size_t y, const void *from, size_t pitch, size_t width,
               size_t height, int kind, Handle stream),
              (to, x_bytes, y, from, pitch, width, height, kind, stream)) {
  return copy_to_array(to, x_bytes, y, from, pitch, width, height, kind, true, which(stream));
}
RT_STREAM_API(cudaMemcpy2DFromArray, _ptds,
              (void *to, size_t pitch, Handle from, size_t x_bytes, size_t y, size_t width, size_t height,
               int kind),
              (to, pitch, from, x_bytes, y, width, height, kind)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy_from_array(to, pitch, from, x_bytes, y, width, height, kind, is_async, stream);
  });
}
RT_STREAM_API(cudaMemcpy2DFromArrayAsync, _ptsz,
              (void *to, size_t pitch, Handle from, size_t x_bytes, size_t y, size_t width, size_t height,
               int kind, Handle stream),
              (to, pitch, from, x_bytes, y, width, height, kind, stream)) {
  return copy_from_array(to, pitch, from, x_bytes, y, width, height, kind, true, which(stream));
}
RT_STREAM_API(cudaMemcpy2DArrayToArray, _ptds,
              (Handle to, size_t to_x_bytes, size_t to_y, Handle from, size_t from_x_bytes, size_t from_y,
               size_t width, size_t height, int kind),
              (to, to_x_bytes, to_y, from, from_x_bytes, from_y, width, height, kind)) {
  if (!to || !from) return kInvalidResourceHandle;
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy_rows({to, to_x_bytes, to_y, nullptr, 0}, {from, from_x_bytes, from_y, nullptr, 0}, width,
                     height, kind, is_async, stream);
  });
}

RT_STREAM_API(cudaMemcpyToArray, _ptds,
              (Handle to, size_t x_bytes, size_t y, const void *from, size_t size_bytes, int kind),
              (to, x_bytes, y, from, size_bytes, kind)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy_run_to_array(to, x_bytes, y, from, size_bytes, kind, is_async, stream);
  });
}
RT_STREAM_API(cudaMemcpyToArrayAsync, _ptsz,
              (Handle to, size_t x_bytes, size_t y, const void *from, size_t size_bytes, int kind,
               Handle stream),
              (to, x_bytes, y, from, size_bytes, kind, stream)) {
  return copy_run_to_array(to, x_bytes, y, from, size_bytes, kind, true, which(stream));
}
RT_STREAM_API(cudaMemcpyFromArray, _ptds,
              (void *to, Handle from, size_t x_bytes, size_t y, size_t size_bytes, int kind),
              (to, from, x_bytes, y, size_bytes, kind)) {
  return run_synchronously(which, [&](bool is_async, Handle stream) {
    return copy_run_from_array(to, from, x_bytes, y, size_bytes, kind, is_async, stream);
  });
}
RT_STREAM_API(cudaMemcpyFromArrayAsync, _ptsz,
              (void *to, Handle from, size_t x_bytes, size_t y, size_t size_bytes, int kind, Handle stream),
              (to, from, x_bytes, y, size_bytes, kind, stream)) {
  return copy_run_from_array(to, from, x_bytes, y, size_bytes, kind, true, which(stream));
}
