#include "lib/sim/driver/object.h"

#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace egpu::sim {
namespace {

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<Handle, std::shared_ptr<Object>> objects;
};

Registry &registry() {
  static Registry &registry = *new Registry;
  return registry;
}

}  // namespace

Handle publish(std::shared_ptr<Object> object) {
  const Handle handle = handle_of(*object);
  const std::unique_lock lock(registry().mutex);
  registry().objects[handle] = std::move(object);
  return handle;
}

std::shared_ptr<Object> retire(Handle handle) {
  const std::unique_lock lock(registry().mutex);
  const auto node = registry().objects.extract(handle);
  return node ? node.mapped() : nullptr;
}

std::shared_ptr<Object> find_object(Handle handle, ObjectKind kind) {
  const std::shared_lock lock(registry().mutex);
  const auto at = registry().objects.find(handle);
  if (at == registry().objects.end() || at->second->kind() != kind) return nullptr;
  return at->second;
}

}  // namespace egpu::sim
