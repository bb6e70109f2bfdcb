// Arrays: making them, asking about them. Copies to and from them: api_copy.cc.
#include "lib/sim/driver/array.h"
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"

using namespace egpu::sim;

CU_API(cuArrayCreate_v2, (Handle * array, const ArrayDescriptor2D *flat), (array, flat)) {
  if (!flat) return kInvalidValue;
  CU_CONTEXT(context);
  CU_TRY(check_unsafe_call());
  return create_array(*context, {flat->width, flat->height, 0, flat->format, flat->channels, 0}, array);
}
CU_API(cuArray3DCreate_v2, (Handle * array, const ArrayDescriptor *descriptor), (array, descriptor)) {
  if (!descriptor) return kInvalidValue;
  CU_CONTEXT(context);
  CU_TRY(check_unsafe_call());
  return create_array(*context, *descriptor, array);
}
CU_API(cuArrayDestroy, (Handle array), (array)) {
  CU_CONTEXT(context);
  CU_TRY(check_unsafe_call());
  return destroy_array(array);
}
CU_API(cuArrayGetDescriptor_v2, (ArrayDescriptor2D * flat, Handle handle), (flat, handle)) {
  std::shared_ptr<Array> array;
  CU_TRY(require(handle, kInvalidHandle, &array));
  if (!flat) return kInvalidValue;
  *flat = {array->shape.width, array->shape.height, array->shape.format, array->shape.channels};
  return kSuccess;
}
CU_API(cuArray3DGetDescriptor_v2, (ArrayDescriptor * descriptor, Handle handle), (descriptor, handle)) {
  std::shared_ptr<Array> array;
  CU_TRY(require(handle, kInvalidHandle, &array));
  if (!descriptor) return kInvalidValue;
  *descriptor = array->shape;
  return kSuccess;
}
