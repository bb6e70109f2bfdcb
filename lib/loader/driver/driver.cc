#include "lib/loader/driver/driver.h"

#include <dlfcn.h>

namespace egpu::driver {

const char *Driver::resolve(bool load) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library && load) library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return "libcuda.so.1";
  const char *missing = nullptr;
#define EGPU_RESOLVE(name, parameters, required)                  \
  name = reinterpret_cast<decltype(name)>(dlsym(library, #name)); \
  if (!name && required && !missing) missing = #name;
  EGPU_DRIVER_FUNCTIONS(EGPU_RESOLVE)
#undef EGPU_RESOLVE
  // The handle stays open: the driver must not be unloaded under our pointers.
  return missing;
}

}  // namespace egpu::driver
