// CUDA arrays: memory with a shape, which only copies reach (textures and surfaces are not simulated).
// Rows of elements, one behind the other; slices or layers of rows.
#pragma once
#include "lib/sim/driver/driver.h"

namespace egpu::sim {

class Array : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::array;
  Array(const ArrayDescriptor &its_shape, size_t its_element_bytes, Address its_base)
      : Object(kKind), shape(its_shape), element_bytes(its_element_bytes), base(its_base) {}
  const ArrayDescriptor shape;  // height or depth 0: of fewer dimensions
  const size_t element_bytes;
  const Address base;

  size_t row_bytes() const { return shape.width * element_bytes; }
  size_t rows() const { return shape.height ? shape.height : 1; }
  size_t slices() const { return shape.depth ? shape.depth : 1; }
};

/// kInvalidValue: the shape, the format or the flags.
Status create_array(Context &context, const ArrayDescriptor &shape, Handle *made);
/// Waits for copies that may use it.
Status destroy_array(Handle handle);

/// The copy with device memory in the place of arrays. kInvalidHandle: none; kInvalidValue: beyond its end.
Status resolve_arrays(const Copy3D &copy, Copy3D *resolved);

}  // namespace egpu::sim
