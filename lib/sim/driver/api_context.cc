// Contexts: primary ones and others, and each host thread's stack of them.
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/driver.h"
#include "lib/sim/driver/export.h"

using namespace egpu::sim;

namespace {

Status initialized_device(Ordinal ordinal, Device **device) {
  if (!driver().initialized) return kNotInitialized;
  *device = find_device(ordinal);
  return *device ? kSuccess : kInvalidDevice;
}

Status create(Handle *made, unsigned flags, Ordinal ordinal) {
  if (!made) return kInvalidValue;
  Device *device = nullptr;
  CU_TRY(initialized_device(ordinal, &device));
  CU_TRY(driver().status());
  auto context = std::make_shared<Context>(*device, false, flags);
  thread_state().stack.push_back(context.get());
  *made = publish(std::move(context));
  return kSuccess;
}

Status destroy(Handle handle) {
  const std::shared_ptr<Context> context = find<Context>(handle);
  if (!context) return kInvalidContext;
  if (context->is_primary) return kInvalidContext;
  if (context->destroyed.exchange(true)) return kContextIsDestroyed;
  context->reset();
  ThreadState &thread = thread_state();
  if (!thread.stack.empty() && thread.stack.back() == context.get()) thread.stack.pop_back();
  return kSuccess;  // the object stays: other threads may have it current
}

Status push(Handle handle) {
  if (!driver().initialized) return kNotInitialized;
  const std::shared_ptr<Context> context = find<Context>(handle);
  if (!context) return kInvalidContext;
  thread_state().stack.push_back(context.get());  // a destroyed one too: its use is the error
  return kSuccess;
}

Status pop(Handle *handle) {
  if (!driver().initialized) return kNotInitialized;
  ThreadState &thread = thread_state();
  if (thread.stack.empty()) return kInvalidContext;
  if (handle) *handle = thread.stack.back() ? handle_of(*thread.stack.back()) : nullptr;
  thread.stack.pop_back();
  return kSuccess;
}

Status release_primary(Ordinal ordinal) {
  Device *device = nullptr;
  CU_TRY(initialized_device(ordinal, &device));
  {
    const std::lock_guard lock(device->mutex);
    if (device->primary_references == 0) return kInvalidContext;
    if (--device->primary_references > 0) return kSuccess;
    device->primary->destroyed = true;
  }
  device->primary->reset();
  return kSuccess;
}

// Its references stay, its handle is of no use until the context is retained again.
Status reset_primary(Ordinal ordinal) {
  Device *device = nullptr;
  CU_TRY(initialized_device(ordinal, &device));
  {
    const std::lock_guard lock(device->mutex);
    device->primary->destroyed = true;
  }
  device->primary->reset();
  return kSuccess;
}

Status set_primary_flags(Ordinal ordinal, unsigned flags) {
  Device *device = nullptr;
  CU_TRY(initialized_device(ordinal, &device));
  const std::lock_guard lock(device->mutex);
  device->primary_flags = flags;
  device->primary->flags = flags;
  return kSuccess;
}

Status synchronize(Context &context) {
  CU_TRY(check_unsafe_call());
  return context.synchronize();
}

// The named context, or the current one for null.
Status context_or_current(Handle handle, Context **context) {
  if (!handle) return current_context(context);
  if (!driver().initialized) return kNotInitialized;
  const std::shared_ptr<Context> found = find<Context>(handle);
  if (!found) return kInvalidContext;
  *context = found.get();
  return found->destroyed ? kContextIsDestroyed : driver().status();
}

}  // namespace

CU_API(cuCtxCreate, (Handle * context, unsigned flags, Ordinal device), (context, flags, device)) {
  return create(context, flags, device);
}
CU_API(cuCtxCreate_v2, (Handle * context, unsigned flags, Ordinal device), (context, flags, device)) {
  return create(context, flags, device);
}
CU_API(cuCtxCreate_v3, (Handle * context, void *affinity, int count, unsigned flags, Ordinal device),
       (context, affinity, count, flags, device)) {
  if (affinity && count > 0) return kUnsupportedExecAffinity;
  return create(context, flags, device);
}
CU_API(cuCtxCreate_v4, (Handle * context, const void *parameters, unsigned flags, Ordinal device),
       (context, parameters, flags, device)) {
  if (parameters) return kNotSupported;
  return create(context, flags, device);
}
CU_API(cuCtxDestroy, (Handle context), (context)) { return destroy(context); }
CU_API(cuCtxDestroy_v2, (Handle context), (context)) { return destroy(context); }
CU_API(cuCtxPushCurrent, (Handle context), (context)) { return push(context); }
CU_API(cuCtxPushCurrent_v2, (Handle context), (context)) { return push(context); }
CU_API(cuCtxPopCurrent, (Handle * context), (context)) { return pop(context); }
CU_API(cuCtxPopCurrent_v2, (Handle * context), (context)) { return pop(context); }

CU_API(cuCtxSetCurrent, (Handle handle), (handle)) {
  if (!driver().initialized) return kNotInitialized;
  std::vector<Context *> &stack = thread_state().stack;
  if (!handle) {
    if (!stack.empty()) stack.pop_back();
    return kSuccess;
  }
  const std::shared_ptr<Context> context = find<Context>(handle);
  if (!context) return kInvalidContext;
  if (stack.empty()) stack.push_back(nullptr);
  stack.back() = context.get();
  return kSuccess;
}

CU_API(cuCtxGetCurrent, (Handle * context), (context)) {
  if (!context) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  const std::vector<Context *> &stack = thread_state().stack;
  *context = stack.empty() || !stack.back() ? nullptr : handle_of(*stack.back());
  return kSuccess;
}

CU_API(cuCtxGetDevice, (Ordinal * device), (device)) {
  if (!device) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  const std::vector<Context *> &stack = thread_state().stack;
  if (stack.empty() || !stack.back()) return kInvalidContext;
  *device = stack.back()->device.ordinal;
  return kSuccess;
}
CU_API(cuCtxGetDevice_v2, (Ordinal * device, Handle handle), (device, handle)) {
  if (!device) return kInvalidValue;
  Context *context = nullptr;
  CU_TRY(context_or_current(handle, &context));
  *device = context->device.ordinal;
  return kSuccess;
}

CU_API(cuCtxSynchronize, (), ()) {
  CU_CONTEXT(context);
  return synchronize(*context);
}
CU_API(cuCtxSynchronize_v2, (Handle handle), (handle)) {
  Context *context = nullptr;
  CU_TRY(context_or_current(handle, &context));
  return synchronize(*context);
}

CU_API(cuCtxGetApiVersion, (Handle handle, unsigned *version), (handle, version)) {
  if (!version) return kInvalidValue;
  Context *context = nullptr;
  if (const Status status = context_or_current(handle, &context); !context) return status;
  *version = 3020;
  return kSuccess;
}
CU_API(cuCtxGetId, (Handle handle, unsigned long long *id), (handle, id)) {
  if (!id) return kInvalidValue;
  Context *context = nullptr;
  CU_TRY(context_or_current(handle, &context));
  *id = context->id;
  return kSuccess;
}
CU_API(cuCtxGetFlags, (unsigned *flags), (flags)) {
  if (!flags) return kInvalidValue;
  CU_CONTEXT(context);
  *flags = context->flags;
  return kSuccess;
}

// Cache choices are remembered by nobody: there are no caches.
CU_API(cuCtxGetLimit, (size_t * value, int limit), (value, limit)) {
  if (!value) return kInvalidValue;
  CU_CONTEXT(context);
  if (limit < 0 || static_cast<size_t>(limit) >= context->limits.size())
    return kInvalidValue;  // as seen on an H200
  *value = context->limits[static_cast<size_t>(limit)];
  return kSuccess;
}
CU_API(cuCtxSetLimit, (int limit, size_t value), (limit, value)) {
  CU_CONTEXT(context);
  if (limit < 0 || static_cast<size_t>(limit) >= context->limits.size())
    return kInvalidValue;  // as seen on an H200
  context->limits[static_cast<size_t>(limit)] = value;
  return kSuccess;
}
CU_API(cuCtxResetPersistingL2Cache, (), ()) {
  CU_CONTEXT(context);
  return kSuccess;
}
CU_API(cuCtxSetFlags, (unsigned flags), (flags)) {
  CU_CONTEXT(context);
  context->flags = flags;
  return kSuccess;
}
CU_API(cuCtxGetCacheConfig, (int *config), (config)) {
  if (!config) return kInvalidValue;
  CU_CONTEXT(context);
  *config = 0;
  return kSuccess;
}
CU_API(cuCtxSetCacheConfig, (int config), (config)) {
  CU_CONTEXT(context);
  return config < 0 || config > 3 ? kInvalidValue : kSuccess;
}
CU_API(cuCtxGetStreamPriorityRange, (int *least, int *greatest), (least, greatest)) {
  CU_CONTEXT(context);
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return kSuccess;
}

CU_API(cuDevicePrimaryCtxRetain, (Handle * context, Ordinal ordinal), (context, ordinal)) {
  if (!context) return kInvalidValue;
  Device *device = nullptr;
  CU_TRY(initialized_device(ordinal, &device));
  CU_TRY(driver().status());
  const std::lock_guard lock(device->mutex);
  ++device->primary_references;
  device->primary->destroyed = false;
  *context = handle_of(*device->primary);
  return kSuccess;
}
CU_API(cuDevicePrimaryCtxRelease, (Ordinal device), (device)) { return release_primary(device); }
CU_API(cuDevicePrimaryCtxRelease_v2, (Ordinal device), (device)) { return release_primary(device); }
CU_API(cuDevicePrimaryCtxReset, (Ordinal device), (device)) { return reset_primary(device); }
CU_API(cuDevicePrimaryCtxReset_v2, (Ordinal device), (device)) { return reset_primary(device); }
CU_API(cuDevicePrimaryCtxSetFlags, (Ordinal device, unsigned flags), (device, flags)) {
  return set_primary_flags(device, flags);
}
CU_API(cuDevicePrimaryCtxSetFlags_v2, (Ordinal device, unsigned flags), (device, flags)) {
  return set_primary_flags(device, flags);
}
CU_API(cuDevicePrimaryCtxGetState, (Ordinal ordinal, unsigned *flags, int *active),
       (ordinal, flags, active)) {
  if (!flags || !active) return kInvalidValue;
  Device *device = nullptr;
  CU_TRY(initialized_device(ordinal, &device));
  const std::lock_guard lock(device->mutex);
  *flags = device->primary_flags;
  *active = device->primary_references > 0 && !device->primary->destroyed;
  return kSuccess;
}
