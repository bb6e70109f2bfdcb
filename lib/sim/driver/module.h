// Modules, functions, libraries and kernels.
//
// A LoadedModule (CUmodule) is code in a context; its functions are CUfunctions. A Library is
// code that no context owns; its kernels are CUkernels, and it is loaded into a context as a
// module when something there first needs it. A CUkernel is not a CUfunction: the cuFunc* calls
// refuse it, the launches take it (facts.md, section 1).
#pragma once
#include <array>

#include "lib/sim/driver/image.h"
#include "lib/sim/driver/stream.h"

namespace egpu::sim {

class LoadedModule;
class Library;

// What cuFuncSetAttribute and cuKernelSetAttribute set.
struct Attributes {
  static constexpr int kUnset = -1;
  std::array<std::atomic<int>, kFunctionAttributeCount> values;
  Attributes() {
    for (auto &value : values) value = kUnset;
  }
};

class LoadedFunction : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::function;
  LoadedFunction(LoadedModule &its_module, std::shared_ptr<const Module> its_code, const KernelInfo &its_info,
                 std::shared_ptr<Attributes> its_attributes);
  const Handle module;
  Context &context;
  const std::shared_ptr<const Module> code;
  const KernelInfo &info;  // part of `code`
  const std::shared_ptr<Attributes> attributes;
};

class LoadedModule : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::module;
  explicit LoadedModule(Context &its_context) : Object(kKind), context(its_context) {}

  /// kInvalidPtx, with the machine's message in `cause`.
  Status load(const Image &image, std::string *cause);
  /// The function, made on first use; null: no such kernel.
  std::shared_ptr<LoadedFunction> function(const std::string &name,
                                           std::shared_ptr<Attributes> attributes = nullptr);
  const GlobalInfo *global(const std::string &name) const;
  std::vector<std::string> kernel_names() const;
  /// Forgets the handles of its functions and its own.
  void unload();

  Context &context;
  Handle library = nullptr;  // of which it is the code in this context

 private:
  std::vector<std::shared_ptr<Module>> parts_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<LoadedFunction>> functions_;
};

class LibraryKernel : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kernel;
  LibraryKernel(std::shared_ptr<Library> its_library, std::string its_name)
      : Object(kKind), library(std::move(its_library)), name(std::move(its_name)) {}
  /// Its function in the context, loading the library there if need be.
  Status function(Context &context, std::shared_ptr<LoadedFunction> *function);
  std::shared_ptr<Attributes> attributes(Ordinal device);

  const std::shared_ptr<Library> library;  // which drops its kernels when it is unloaded
  const std::string name;

 private:
  std::mutex mutex_;
  std::map<Ordinal, std::shared_ptr<Attributes>> attributes_;
};

class Library : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::library;
  explicit Library(Image its_image) : Object(kKind), image_(std::move(its_image)) {}

  Status module(Context &context, std::shared_ptr<LoadedModule> *module, std::string *cause);
  /// kNotFound: no such kernel.
  Status kernel(const std::string &name, std::shared_ptr<LibraryKernel> *kernel);
  Status kernel_names(std::vector<std::string> *names);
  void unload();

 private:
  const Image image_;
  std::mutex mutex_;
  std::map<Context *, std::shared_ptr<LoadedModule>> modules_;
  std::map<std::string, std::shared_ptr<LibraryKernel>> kernels_;
};

/// A CUfunction, or a CUkernel in this context; kInvalidHandle.
Status resolve_function(Context &context, Handle handle, std::shared_ptr<LoadedFunction> *function);

int attribute_value(const LoadedFunction &function, int attribute);
/// kInvalidValue: no such attribute, not settable, or out of range.
Status set_attribute(const Device &device, const KernelInfo &info, Attributes &attributes, int attribute,
                     int value);

}  // namespace egpu::sim
