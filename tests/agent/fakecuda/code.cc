// Modules, libraries and links: their "PTX" as fakecuda.h describes it.
#include <cstring>
#include <regex>

#include "tests/agent/fakecuda/state.h"

namespace {

Module *make_module(const std::string &text) {
  auto *module = new Module{text, {}, {}};
  std::regex entry(R"(\.entry\s+(\w+)\s*\(([^)]*)\))"), param(R"(\.param\s+\.(u64|u32|u16|u8))");
  for (std::sregex_iterator it(text.begin(), text.end(), entry), end; it != end; ++it) {
    auto f = std::make_unique<Function>();
    f->name = (*it)[1];
    f->module = module;
    f->attributes[8] = 48 * 1024;
    std::string list = (*it)[2];
    for (std::sregex_iterator p(list.begin(), list.end(), param); p != end; ++p)
      f->parameter_bytes.push_back(std::stoul((*p)[1].str().substr(1)) / 8);
    size_t after = static_cast<size_t>(it->position() + it->length());
    size_t next = text.find(".entry", after), adds = text.find("// adds ", after);
    if (adds < next)
      f->counter = reinterpret_cast<std::atomic<uint64_t> *>(std::stoull(text.substr(adds + 8), nullptr, 0));
    module->functions[f->name] = std::move(f);
  }
  std::regex global(R"(\.global\s+(\w+))");
  for (std::sregex_iterator it(text.begin(), text.end(), global), end; it != end; ++it)
    module->globals[(*it)[1]] = 0x7000 + 16 * module->globals.size();
  std::lock_guard lock(mutex);
  modules.insert(module);
  return module;
}

std::string image_text(const void *image) {
  const char *text = static_cast<const char *>(image);
  uint32_t magic;
  memcpy(&magic, image, sizeof magic);
  if (magic == 0x466243b1 || magic == 0xba55ed50 || memcmp(image, "\177ELF", 4) == 0)
    return ".entry from_binary()";
  return text;
}

}  // namespace

Function *fakecuda::resolve(CUfunction handle) {
  if (!handle) return nullptr;
  auto *f = reinterpret_cast<Function *>(handle);
  if (f->magic == kFunctionMagic) return f;
  if (f->magic == kDeadMagic) ++dead_launches;
  auto *kernel = reinterpret_cast<Kernel *>(handle);
  if (kernel->magic != kKernelMagic) return nullptr;
  std::lock_guard lock(mutex);
  Library *library = kernel->library;
  Module *&module = library->modules[current];
  if (!module) {
    module = make_module(library->text);
    library->owned.emplace_back(module);
  }
  return module->functions.at(kernel->name).get();
}

HOOKABLE(cuModuleLoadData);
IMPLEMENT fake_cuModuleLoadData(CUmodule *module, const void *image) {
  unsafe_call();
  std::string text = image_text(image);
  if (text.find("BROKEN") != std::string::npos) return 218;
  *module = reinterpret_cast<CUmodule>(make_module(text));
  return 0;
}

HOOKABLE(cuModuleLoad);
IMPLEMENT fake_cuModuleLoad(CUmodule *module, const char *) {
  *module = reinterpret_cast<CUmodule>(make_module(".entry from_file()"));
  return 0;
}

HOOKABLE(cuModuleUnload);
IMPLEMENT fake_cuModuleUnload(CUmodule module) {
  unsafe_call();
  std::lock_guard lock(mutex);
  if (!modules.erase(reinterpret_cast<Module *>(module))) return kInvalidHandle;
  delete reinterpret_cast<Module *>(module);
  return 0;
}

HOOKABLE(cuLibraryLoadData);
IMPLEMENT fake_cuLibraryLoadData(CUlibrary *library, const void *code, int *, void **, unsigned, int *,
                                 void **, unsigned) {
  auto *l = new Library;
  l->text = image_text(code);
  std::unique_ptr<Module> names(make_module(l->text));
  modules.erase(names.get());
  for (auto &[name, f] : names->functions) {
    l->kernels[name] = std::make_unique<Kernel>();
    l->kernels[name]->name = name;
    l->kernels[name]->library = l;
  }
  *library = reinterpret_cast<CUlibrary>(l);
  return 0;
}

HOOKABLE(cuLibraryUnload);
IMPLEMENT fake_cuLibraryUnload(CUlibrary library) {
  std::lock_guard lock(mutex);
  for (auto &m : reinterpret_cast<Library *>(library)->owned) modules.erase(m.get());
  delete reinterpret_cast<Library *>(library);
  return 0;
}

EXPORT cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  auto *l = reinterpret_cast<Library *>(library);
  if (!l->kernels.count(name)) return kNotFound;
  *kernel = reinterpret_cast<CUkernel>(l->kernels[name].get());
  return 0;
}

HOOKABLE(cuLibraryGetModule);
IMPLEMENT fake_cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  auto *l = reinterpret_cast<Library *>(library);
  resolve(reinterpret_cast<CUfunction>(l->kernels.begin()->second.get()));  // loads it
  *module = reinterpret_cast<CUmodule>(l->modules[current]);
  return 0;
}

EXPORT cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name) {
  auto &functions = reinterpret_cast<Module *>(module)->functions;
  if (!functions.count(name)) return kNotFound;
  *f = reinterpret_cast<CUfunction>(functions[name].get());
  return 0;
}

EXPORT cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name) {
  auto &globals = reinterpret_cast<Module *>(module)->globals;
  if (!globals.count(name)) return kNotFound;
  *address = globals[name];
  *bytes = 4;
  return 0;
}

EXPORT cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name) {
  if (reinterpret_cast<Library *>(library)->text.find(std::string(".global ") + name) == std::string::npos)
    return kNotFound;
  *address = 0x9000;
  *bytes = 4;
  return 0;
}

EXPORT cuLibraryGetManaged(CUdeviceptr *address, size_t *bytes, CUlibrary, const char *name) {
  if (strcmp(name, "managed") != 0) return kNotFound;
  *address = 0xa000;
  *bytes = 4;
  return 0;
}

EXPORT cuLinkCreate_v2(unsigned count, int *options, void **values, CUlinkState *state) {
  auto *link = new Link{{}, nullptr};
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == kJitErrorLogBuffer) link->errors = static_cast<char *>(values[i]);
  *state = reinterpret_cast<CUlinkState>(link);
  return 0;
}

EXPORT cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t bytes, const char *, unsigned, int *,
                        void **) {
  auto *link = reinterpret_cast<Link *>(state);
  if (type != kJitInputPtx || static_cast<char *>(data)[bytes - 1] != 0) return kInvalidValue;
  link->text = static_cast<char *>(data);
  if (link->text.find("BROKEN") == std::string::npos) return 0;
  if (link->errors) strcpy(link->errors, "ptxas application ptx input, line 3; error: BROKEN");
  return 218;
}

EXPORT cuLinkComplete(CUlinkState state, void **cubin, size_t *bytes) {
  auto *link = reinterpret_cast<Link *>(state);
  *cubin = link->text.data();
  *bytes = link->text.size() + 1;
  return 0;
}

EXPORT cuLinkDestroy(CUlinkState state) {
  delete reinterpret_cast<Link *>(state);
  return 0;
}
