// Modules and functions.
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/module.h"

using namespace egpu::sim;

namespace {

Status load(Handle *made, const Image &image, JitLog &log) {
  CU_CONTEXT(context);
  auto module = std::make_shared<LoadedModule>(*context);
  std::string cause;
  if (const Status status = module->load(image, &cause); status != kSuccess) {
    log.error(cause);
    return status;
  }
  *made = publish(module);
  context->adopt(*made);
  return kSuccess;
}

// A wrapper record is for cuModuleLoadFatBinary and libraries: as seen on an H200.
enum class Takes { images, wrappers_too };

Status load_data(Handle *made, const void *image, Takes takes, unsigned count = 0,
                 const int *options = nullptr, void **values = nullptr) {
  if (!made || !image) return kInvalidValue;
  if (takes == Takes::images && is_wrapper(image)) return kInvalidImage;
  CU_CONTEXT(context);
  JitLog log(count, options, values);
  Image read;
  std::string cause;
  Status status = read_image(image, 0, context->machine().config(), &read, &cause);
  if (status == kSuccess)
    status = load(made, read, log);
  else
    log.error(cause);
  log.finish();
  return status;
}

// A function must be one: a CUkernel is refused here.
Status function_of(Handle handle, std::shared_ptr<LoadedFunction> *function) {
  if (!driver().initialized) return kNotInitialized;
  *function = find<LoadedFunction>(handle);
  return *function ? kSuccess : kInvalidHandle;
}

}  // namespace

CU_API(cuModuleLoad, (Handle * module, const char *path), (module, path)) {
  if (!module || !path) return kInvalidValue;
  CU_CONTEXT(context);
  Image image;
  std::string cause;
  JitLog log;
  CU_TRY(read_image_file(path, context->machine().config(), &image, &cause));
  return load(module, image, log);
}
CU_API(cuModuleLoadData, (Handle * module, const void *image), (module, image)) {
  return load_data(module, image, Takes::images);
}
CU_API(cuModuleLoadDataEx, (Handle * module, const void *image, unsigned count, int *options, void **values),
       (module, image, count, options, values)) {
  return load_data(module, image, Takes::images, count, options, values);
}
CU_API(cuModuleLoadFatBinary, (Handle * module, const void *image), (module, image)) {
  return load_data(module, image, Takes::wrappers_too);
}

CU_API(cuModuleUnload, (Handle handle), (handle)) {
  CU_CONTEXT(context);
  const std::shared_ptr<LoadedModule> module = find<LoadedModule>(handle);
  if (!module) return kInvalidHandle;
  if (module->library) return kNotPermitted;  // unloaded with its library
  CU_TRY(module->context.synchronize());      // kernels of it may still run
  module->context.disown(handle);
  module->unload();
  return kSuccess;
}

CU_API(cuModuleGetFunction, (Handle * made, Handle handle, const char *name), (made, handle, name)) {
  if (!made || !name) return kInvalidValue;
  CU_CONTEXT(context);
  const std::shared_ptr<LoadedModule> module = find<LoadedModule>(handle);
  if (!module) return kInvalidHandle;
  const std::shared_ptr<LoadedFunction> function = module->function(name);
  if (!function) return kNotFound;
  *made = handle_of(*function);
  return kSuccess;
}

CU_API(cuModuleGetGlobal_v2, (Address * address, size_t *size_bytes, Handle handle, const char *name),
       (address, size_bytes, handle, name)) {
  if (!name || (!address && !size_bytes)) return kInvalidValue;
  CU_CONTEXT(context);
  const std::shared_ptr<LoadedModule> module = find<LoadedModule>(handle);
  if (!module) return kInvalidHandle;
  const GlobalInfo *global = module->global(name);
  if (!global) return kNotFound;
  if (address) *address = global->address;
  if (size_bytes) *size_bytes = global->size_bytes;
  return kSuccess;
}

CU_API(cuModuleGetFunctionCount, (unsigned *count, Handle handle), (count, handle)) {
  if (!count) return kInvalidValue;
  const std::shared_ptr<LoadedModule> module = find<LoadedModule>(handle);
  if (!module) return kInvalidHandle;
  *count = static_cast<unsigned>(module->kernel_names().size());
  return kSuccess;
}
CU_API(cuModuleEnumerateFunctions, (Handle * functions, unsigned count, Handle handle),
       (functions, count, handle)) {
  if (!functions || count == 0) return kInvalidValue;
  const std::shared_ptr<LoadedModule> module = find<LoadedModule>(handle);
  if (!module) return kInvalidHandle;
  for (const std::string &name : module->kernel_names()) {
    if (count-- == 0) break;
    *functions++ = handle_of(*module->function(name));
  }
  return kSuccess;
}
CU_API(cuModuleGetLoadingMode, (int *mode), (mode)) {
  if (!mode) return kInvalidValue;
  *mode = 1;  // eager
  return kSuccess;
}

CU_API(cuFuncGetName, (const char **name, Handle handle), (name, handle)) {
  if (!name) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_of(handle, &function));
  *name = function->info.name.c_str();
  return kSuccess;
}
CU_API(cuFuncGetModule, (Handle * module, Handle handle), (module, handle)) {
  if (!module) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_of(handle, &function));
  *module = function->module;
  return kSuccess;
}
CU_API(cuFuncGetParamInfo, (Handle handle, size_t index, size_t *offset, size_t *size_bytes),
       (handle, index, offset, size_bytes)) {
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_of(handle, &function));
  if (!offset || index >= function->info.parameters.size()) return kInvalidValue;
  *offset = function->info.parameters[index].offset;
  if (size_bytes) *size_bytes = function->info.parameters[index].size_bytes;
  return kSuccess;
}
CU_API(cuFuncGetAttribute, (int *value, int attribute, Handle handle), (value, attribute, handle)) {
  if (!value || attribute < 0 || attribute >= kFunctionAttributeCount) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_of(handle, &function));
  *value = attribute_value(*function, attribute);
  return kSuccess;
}
CU_API(cuFuncSetAttribute, (Handle handle, int attribute, int value), (handle, attribute, value)) {
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_of(handle, &function));
  return set_attribute(function->context.device, function->info, *function->attributes, attribute, value);
}
CU_API(cuFuncSetCacheConfig, (Handle handle, int config), (handle, config)) {
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_of(handle, &function));
  return config < 0 || config > 3 ? kInvalidValue : kSuccess;  // a hint; there are no caches
}
CU_API(cuFuncSetSharedMemConfig, (Handle handle, int config), (handle, config)) {
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_of(handle, &function));
  return config < 0 || config > 2 ? kInvalidValue : kSuccess;
}
CU_API(cuFuncIsLoaded, (int *state, Handle handle), (state, handle)) {
  if (!state) return kInvalidValue;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_of(handle, &function));
  *state = 1;
  return kSuccess;
}
CU_API(cuFuncLoad, (Handle handle), (handle)) {
  std::shared_ptr<LoadedFunction> function;
  return function_of(handle, &function);
}
