// Libraries and kernels: code without a context.
#include "lib/sim/driver/capture.h"
#include "lib/sim/driver/export.h"
#include "lib/sim/driver/module.h"

using namespace egpu::sim;

namespace {

Status made_library(Handle *made, Image image, JitLog &log) {
  auto library = std::make_shared<Library>(std::move(image));
  std::string cause;
  // Compile now, so that a wrong image is refused by this call. No context is needed: the first
  // device's primary one takes it if none is current.
  const ThreadState &thread = thread_state();
  Context &context = !thread.stack.empty() && thread.stack.back() ? *thread.stack.back()
                                                                  : *driver().devices.front()->primary;
  std::shared_ptr<LoadedModule> module;
  if (const Status status = library->module(context, &module, &cause); status != kSuccess) {
    log.error(cause);
    return status;
  }
  *made = publish(std::move(library));
  return kSuccess;
}

Status library_of(Handle handle, std::shared_ptr<Library> *library) {
  return require(handle, kInvalidHandle, library);
}

Status kernel_of(Handle handle, std::shared_ptr<LibraryKernel> *kernel) {
  return require(handle, kInvalidHandle, kernel);
}

// The kernel's function on a device, for questions about it.
Status function_on(Handle handle, Ordinal ordinal, std::shared_ptr<LibraryKernel> *kernel,
                   std::shared_ptr<LoadedFunction> *function) {
  CU_TRY(kernel_of(handle, kernel));
  const Device *device = find_device(ordinal);
  if (!device) return kInvalidDevice;
  const ThreadState &thread = thread_state();
  Context *context = !thread.stack.empty() ? thread.stack.back() : nullptr;
  if (!context || &context->device != device) context = device->primary;
  return (*kernel)->function(*context, function);
}

Status global(Address *address, size_t *size_bytes, Handle handle, const char *name, bool managed) {
  if (!name || (!address && !size_bytes)) return kInvalidValue;
  std::shared_ptr<Library> library;
  CU_TRY(library_of(handle, &library));
  Context *context = nullptr;
  // Managed variables are asked for before there is a context (cuda-formats.md, section 1).
  if (const Status status = current_context(&context); status != kSuccess) {
    if (!managed || status != kInvalidContext) return status;
    context = driver().devices.front()->primary;
  }
  std::shared_ptr<LoadedModule> module;
  std::string cause;
  CU_TRY(library->module(*context, &module, &cause));
  const GlobalInfo *info = module->global(name);
  if (!info || (managed && !info->is_managed)) return kNotFound;
  if (address) *address = info->address;
  if (size_bytes) *size_bytes = info->size_bytes;
  return kSuccess;
}

Status current_device(Ordinal *ordinal) {
  CU_CONTEXT(context);
  *ordinal = context->device.ordinal;
  return kSuccess;
}

}  // namespace

CU_API(cuLibraryLoadData,
       (Handle * library, const void *code, int *jit_options, void **jit_values, unsigned jit_count,
        int *options, void **values, unsigned count),
       (library, code, jit_options, jit_values, jit_count, options, values, count)) {
  if (!library || !code || (count && !options) || (count && !values)) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  JitLog log(jit_count, jit_options, jit_values);
  Image image;
  std::string cause;
  Status status = read_image(code, 0, driver().devices.front()->machine->config(), &image, &cause);
  if (status == kSuccess)
    status = made_library(library, std::move(image), log);
  else
    log.error(cause);
  log.finish();
  return status;
}
CU_API(cuLibraryLoadFromFile,
       (Handle * library, const char *path, int *jit_options, void **jit_values, unsigned jit_count,
        int *options, void **values, unsigned count),
       (library, path, jit_options, jit_values, jit_count, options, values, count)) {
  if (!library || !path || (count && !options) || (count && !values)) return kInvalidValue;
  if (!driver().initialized) return kNotInitialized;
  JitLog log(jit_count, jit_options, jit_values);
  Image image;
  std::string cause;
  Status status = read_image_file(path, driver().devices.front()->machine->config(), &image, &cause);
  if (status == kSuccess)
    status = made_library(library, std::move(image), log);
  else
    log.error(cause);
  log.finish();
  return status;
}
CU_API(cuLibraryUnload, (Handle handle), (handle)) {
  std::shared_ptr<Library> library;
  CU_TRY(library_of(handle, &library));
  library->unload();
  return kSuccess;
}
CU_API(cuLibraryGetKernel, (Handle * made, Handle handle, const char *name), (made, handle, name)) {
  if (!made || !name) return kInvalidValue;
  std::shared_ptr<Library> library;
  CU_TRY(library_of(handle, &library));
  std::shared_ptr<LibraryKernel> kernel;
  CU_TRY(library->kernel(name, &kernel));
  *made = handle_of(*kernel);
  return kSuccess;
}
CU_API(cuLibraryGetKernelCount, (unsigned *count, Handle handle), (count, handle)) {
  if (!count) return kInvalidValue;
  std::shared_ptr<Library> library;
  CU_TRY(library_of(handle, &library));
  std::vector<std::string> names;
  CU_TRY(library->kernel_names(&names));
  *count = static_cast<unsigned>(names.size());
  return kSuccess;
}
CU_API(cuLibraryEnumerateKernels, (Handle * kernels, unsigned count, Handle handle),
       (kernels, count, handle)) {
  if (!kernels || count == 0) return kInvalidValue;
  std::shared_ptr<Library> library;
  CU_TRY(library_of(handle, &library));
  std::vector<std::string> names;
  CU_TRY(library->kernel_names(&names));
  for (const std::string &name : names) {
    if (count-- == 0) break;
    std::shared_ptr<LibraryKernel> kernel;
    CU_TRY(library->kernel(name, &kernel));
    *kernels++ = handle_of(*kernel);
  }
  return kSuccess;
}
CU_API(cuLibraryGetModule, (Handle * module, Handle handle), (module, handle)) {
  if (!module) return kInvalidValue;
  std::shared_ptr<Library> library;
  CU_TRY(library_of(handle, &library));
  CU_CONTEXT(context);
  std::shared_ptr<LoadedModule> loaded;
  std::string cause;
  CU_TRY(library->module(*context, &loaded, &cause));
  *module = handle_of(*loaded);
  return kSuccess;
}
CU_API(cuLibraryGetGlobal, (Address * address, size_t *size_bytes, Handle library, const char *name),
       (address, size_bytes, library, name)) {
  return global(address, size_bytes, library, name, false);
}
CU_API(cuLibraryGetManaged, (Address * address, size_t *size_bytes, Handle library, const char *name),
       (address, size_bytes, library, name)) {
  return global(address, size_bytes, library, name, true);
}

CU_API(cuKernelGetName, (const char **name, Handle handle), (name, handle)) {
  if (!name) return kInvalidValue;
  std::shared_ptr<LibraryKernel> kernel;
  CU_TRY(kernel_of(handle, &kernel));
  *name = kernel->name.c_str();
  return kSuccess;
}
CU_API(cuKernelGetLibrary, (Handle * library, Handle handle), (library, handle)) {
  if (!library) return kInvalidValue;
  std::shared_ptr<LibraryKernel> kernel;
  CU_TRY(kernel_of(handle, &kernel));
  *library = handle_of(*kernel->library);
  return kSuccess;
}
CU_API(cuKernelGetFunction, (Handle * made, Handle handle), (made, handle)) {
  if (!made) return kInvalidValue;
  std::shared_ptr<LibraryKernel> kernel;
  CU_TRY(kernel_of(handle, &kernel));
  CU_CONTEXT(context);
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(kernel->function(*context, &function));
  *made = handle_of(*function);
  return kSuccess;
}
CU_API(cuKernelGetParamInfo, (Handle handle, size_t index, size_t *offset, size_t *size_bytes),
       (handle, index, offset, size_bytes)) {
  Ordinal device = 0;
  std::shared_ptr<LibraryKernel> kernel;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(kernel_of(handle, &kernel));
  if (current_device(&device) != kSuccess) device = 0;
  CU_TRY(function_on(handle, device, &kernel, &function));
  if (!offset || index >= function->info.parameters.size()) return kInvalidValue;
  *offset = function->info.parameters[index].offset;
  if (size_bytes) *size_bytes = function->info.parameters[index].size_bytes;
  return kSuccess;
}
CU_API(cuKernelGetAttribute, (int *value, int attribute, Handle handle, Ordinal device),
       (value, attribute, handle, device)) {
  if (!value || attribute < 0 || attribute >= kFunctionAttributeCount) return kInvalidValue;
  std::shared_ptr<LibraryKernel> kernel;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_on(handle, device, &kernel, &function));
  *value = attribute_value(*function, attribute);
  return kSuccess;
}
CU_API(cuKernelSetAttribute, (int attribute, int value, Handle handle, Ordinal device),
       (attribute, value, handle, device)) {
  std::shared_ptr<LibraryKernel> kernel;
  std::shared_ptr<LoadedFunction> function;
  CU_TRY(function_on(handle, device, &kernel, &function));
  return set_attribute(function->context.device, function->info, *kernel->attributes(device), attribute,
                       value);
}
CU_API(cuKernelSetCacheConfig, (Handle handle, int config, Ordinal device), (handle, config, device)) {
  std::shared_ptr<LibraryKernel> kernel;
  CU_TRY(kernel_of(handle, &kernel));
  if (!find_device(device)) return kInvalidDevice;
  return config < 0 || config > 3 ? kInvalidValue : kSuccess;
}
