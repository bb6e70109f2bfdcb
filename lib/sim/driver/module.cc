#include "lib/sim/driver/module.h"

#include <cstdlib>

namespace egpu::sim {
namespace {

constexpr int kDefaultSharedBytes = 48 * 1024;  // per block, without opting in to more

// Context for questions that need the code but no context: the current one, else the first device's.
Context &any_context() {
  const ThreadState &thread = thread_state();
  if (!thread.stack.empty() && thread.stack.back()) return *thread.stack.back();
  return *driver().devices.front()->primary;
}

// PTX ISA, ".target": sm_75 runs on all later devices, sm_90a on that one only. True if there is none.
bool runs_on(const std::string &text, const DeviceConfig &device) {
  const size_t directive = text.find("\n.target");
  const size_t name = directive == std::string::npos ? directive : text.find("sm_", directive);
  if (name == std::string::npos) return true;
  const char *const number = text.c_str() + name + 3;
  char *end = nullptr;
  const long wanted = std::strtol(number, &end, 10), has = device.compute_major * 10 + device.compute_minor;
  return end == number || (*end == 'a' ? wanted == has : wanted <= has);
}

}  // namespace

LoadedFunction::LoadedFunction(LoadedModule &its_module, std::shared_ptr<const Module> its_code,
                               const KernelInfo &its_info, std::shared_ptr<Attributes> its_attributes)
    : Object(kKind),
      module(handle_of(its_module)),
      context(its_module.context),
      code(std::move(its_code)),
      info(its_info),
      attributes(std::move(its_attributes)) {}

Status LoadedModule::load(const Image &image, std::string *cause) {
  const DeviceConfig &device = context.machine().config();
  for (const std::string &text : image.texts) {
    if (!runs_on(text, device)) {
      *cause = ".target: not for a device of compute capability " + std::to_string(device.compute_major) +
               "." + std::to_string(device.compute_minor);
      return kInvalidPtx;
    }
    Result<std::shared_ptr<Module>> part = context.machine().load(text);
    if (!part) {
      *cause = part.error().message;
      return kInvalidPtx;
    }
    parts_.push_back(*part);
  }
  return kSuccess;
}

std::shared_ptr<LoadedFunction> LoadedModule::function(const std::string &name,
                                                       std::shared_ptr<Attributes> attributes) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LoadedFunction> &function = functions_[name];
  if (function) return function;
  for (const std::shared_ptr<Module> &part : parts_) {
    const KernelInfo *info = part->find_kernel(name);
    if (!info) continue;
    function = std::make_shared<LoadedFunction>(*this, part, *info,
                                                attributes ? attributes : std::make_shared<Attributes>());
    publish(function);
    return function;
  }
  functions_.erase(name);
  return nullptr;
}

const GlobalInfo *LoadedModule::global(const std::string &name) const {
  for (const std::shared_ptr<Module> &part : parts_)
    if (const GlobalInfo *info = part->find_global(name)) return info;
  return nullptr;
}

std::vector<std::string> LoadedModule::kernel_names() const {
  std::vector<std::string> names;
  for (const std::shared_ptr<Module> &part : parts_) {
    const std::vector<std::string> of_part = part->kernel_names();
    names.insert(names.end(), of_part.begin(), of_part.end());
  }
  return names;
}

void LoadedModule::unload() {
  const std::lock_guard lock(mutex_);
  for (const auto &[name, function] : functions_) retire(handle_of(*function));
  functions_.clear();
  retire(handle_of(*this));
}

Status LibraryKernel::function(Context &context, std::shared_ptr<LoadedFunction> *function) {
  std::shared_ptr<LoadedModule> module;
  std::string cause;
  CU_TRY(library->module(context, &module, &cause));
  *function = module->function(name, attributes(context.device.ordinal));
  return *function ? kSuccess : kNotFound;
}

std::shared_ptr<Attributes> LibraryKernel::attributes(Ordinal device) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Attributes> &attributes = attributes_[device];
  if (!attributes) attributes = std::make_shared<Attributes>();
  return attributes;
}

Status Library::module(Context &context, std::shared_ptr<LoadedModule> *module, std::string *cause) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LoadedModule> &loaded = modules_[&context];
  // A context that was reset has forgotten its modules.
  if (!loaded || !find<LoadedModule>(handle_of(*loaded))) {
    auto fresh = std::make_shared<LoadedModule>(context);
    if (const Status status = fresh->load(image_, cause); status != kSuccess) {
      modules_.erase(&context);
      return status;
    }
    fresh->library = handle_of(*this);
    context.adopt(publish(fresh));
    loaded = std::move(fresh);
  }
  *module = loaded;
  return kSuccess;
}

Status Library::kernel(const std::string &name, std::shared_ptr<LibraryKernel> *kernel) {
  std::vector<std::string> names;
  CU_TRY(kernel_names(&names));
  bool exists = false;
  for (const std::string &known : names) exists = exists || known == name;
  if (!exists) return kNotFound;
  const std::lock_guard lock(mutex_);
  std::shared_ptr<LibraryKernel> &made = kernels_[name];
  if (!made) {
    made = std::make_shared<LibraryKernel>(std::static_pointer_cast<Library>(shared_from_this()), name);
    publish(made);
  }
  *kernel = made;
  return kSuccess;
}

Status Library::kernel_names(std::vector<std::string> *names) {
  std::shared_ptr<LoadedModule> module_here;
  std::string cause;
  CU_TRY(module(any_context(), &module_here, &cause));
  *names = module_here->kernel_names();
  return kSuccess;
}

void Library::unload() {
  const std::lock_guard lock(mutex_);
  for (const auto &[context, module] : modules_) {
    context->disown(handle_of(*module));
    module->unload();
  }
  modules_.clear();
  for (const auto &[name, kernel] : kernels_) retire(handle_of(*kernel));
  kernels_.clear();
  retire(handle_of(*this));
}

Status resolve_function(Context &context, Handle handle, std::shared_ptr<LoadedFunction> *function) {
  *function = find<LoadedFunction>(handle);
  if (*function) return &(*function)->context == &context ? kSuccess : kInvalidHandle;
  if (const std::shared_ptr<LibraryKernel> kernel = find<LibraryKernel>(handle))
    return kernel->function(context, function);
  return kInvalidHandle;
}

int attribute_value(const LoadedFunction &function, int attribute) {
  const KernelInfo &info = function.info;
  const DeviceConfig &device = function.context.machine().config();
  const int set = function.attributes->values[static_cast<size_t>(attribute)];
  switch (attribute) {
    case kMaxThreadsPerBlock:
      return static_cast<int>(info.max_threads_per_block);
    case kSharedBytes:
      return static_cast<int>(info.static_shared_bytes);
    case kLocalBytes:
      return static_cast<int>(info.local_bytes);
    case kRegisters:
      return static_cast<int>(info.register_count);
    case kPtxVersion:
    case kBinaryVersion:
      return device.compute_major * 10 + device.compute_minor;
    case kMaxDynamicSharedBytes:
      return set != Attributes::kUnset
                 ? set
                 : std::max(0, kDefaultSharedBytes - static_cast<int>(info.static_shared_bytes));
    case kSharedCarveout:
      return set;
    case kClusterSizeMustBeSet:
      return info.cluster[0] != 0;
    case kClusterWidth:
    case kClusterHeight:
    case kClusterDepth:
      if (info.cluster[0])
        return static_cast<int>(info.cluster[static_cast<size_t>(attribute - kClusterWidth)]);
      [[fallthrough]];
    default:
      return set == Attributes::kUnset ? 0 : set;
  }
}

Status set_attribute(const Device &device, const KernelInfo &info, Attributes &attributes, int attribute,
                     int value) {
  switch (attribute) {
    case kMaxDynamicSharedBytes:
      if (value < 0 ||
          static_cast<uint32_t>(value) + info.static_shared_bytes > device.machine->config().max_shared_bytes)
        return kInvalidValue;
      break;
    case kSharedCarveout:
      if (value < -1 || value > 100) return kInvalidValue;
      break;
    case kClusterWidth:
    case kClusterHeight:
    case kClusterDepth:
      if (info.cluster[0]) return kInvalidValue;  // the kernel's own cannot be changed
      [[fallthrough]];
    case kNonPortableCluster:
    case kClusterPolicy:
      if (value < 0) return kInvalidValue;
      break;
    default:
      return kInvalidValue;
  }
  attributes.values[static_cast<size_t>(attribute)] = value;
  return kSuccess;
}

}  // namespace egpu::sim
