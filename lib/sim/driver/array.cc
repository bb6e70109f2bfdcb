#include "lib/sim/driver/array.h"

#include "lib/sim/driver/allocation.h"

namespace egpu::sim {
namespace {

enum ArrayFlag : unsigned { kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8, kAllArrayFlags = 15 };

// CUarray_format; 0: not simulated.
size_t channel_bytes(int format) {
  switch (format) {
    case 0x01:  // UNSIGNED_INT8
    case 0x08:  // SIGNED_INT8
      return 1;
    case 0x02:  // UNSIGNED_INT16
    case 0x09:  // SIGNED_INT16
    case 0x10:  // HALF
      return 2;
    case 0x03:  // UNSIGNED_INT32
    case 0x0a:  // SIGNED_INT32
    case 0x20:  // FLOAT
      return 4;
    default:
      return 0;
  }
}

// CUDA Driver API, cuArray3DCreate: layers stand in the depth; a cubemap has six square ones.
bool is_shape(const ArrayDescriptor &shape) {
  if (shape.width == 0 || shape.flags & ~kAllArrayFlags) return false;
  if (shape.channels != 1 && shape.channels != 2 && shape.channels != 4) return false;
  if (shape.flags & kCubemap)
    return shape.width == shape.height &&
           (shape.flags & kLayered ? shape.depth && shape.depth % 6 == 0 : shape.depth == 6);
  if (shape.flags & kLayered) return shape.depth != 0;
  return shape.depth == 0 || shape.height != 0;
}

Status resolve(Handle handle, size_t x, size_t y, size_t z, const Copy3D &copy, int *type, Address *address,
               size_t *pitch, size_t *rows) {
  if (*type != kMemoryArray) return kSuccess;
  const std::shared_ptr<Array> array = find<Array>(handle);
  if (!array) return kInvalidHandle;
  const auto inside = [](size_t from, size_t count, size_t limit) {
    return from <= limit && count <= limit - from;
  };
  if (!inside(x, copy.width_bytes, array->row_bytes()) || !inside(y, copy.height, array->rows()) ||
      !inside(z, copy.depth, array->slices()))
    return kInvalidValue;
  *type = kMemoryDevice;
  *address = array->base;
  *pitch = array->row_bytes();
  *rows = array->rows();
  return kSuccess;
}

}  // namespace

Status create_array(Context &context, const ArrayDescriptor &shape, Handle *made) {
  const size_t element_bytes = channel_bytes(shape.format) * shape.channels;
  if (!made || !is_shape(shape)) return kInvalidValue;
  if (element_bytes == 0) return kNotSupported;
  const Array measured(shape, element_bytes, 0);
  Address base = 0;
  CU_TRY(allocate_device(context, measured.row_bytes() * measured.rows() * measured.slices(),
                         Allocation::device, &base));
  *made = publish(std::make_shared<Array>(shape, element_bytes, base));
  context.adopt(*made);
  return kSuccess;
}

Status destroy_array(Handle handle) {
  Context *context = nullptr;
  CU_TRY(current_context(&context));
  const std::shared_ptr<Array> array = find<Array>(handle);
  if (!array) return kInvalidHandle;
  CU_TRY(context->synchronize());
  retire(handle);
  context->disown(handle);
  return free_allocation(array->base, false);
}

Status resolve_arrays(const Copy3D &copy, Copy3D *resolved) {
  *resolved = copy;
  CU_TRY(resolve(copy.from_array, copy.from_x_bytes, copy.from_y, copy.from_z, copy, &resolved->from_type,
                 &resolved->from_device, &resolved->from_pitch, &resolved->from_height));
  return resolve(copy.to_array, copy.to_x_bytes, copy.to_y, copy.to_z, copy, &resolved->to_type,
                 &resolved->to_device, &resolved->to_pitch, &resolved->to_height);
}

}  // namespace egpu::sim
