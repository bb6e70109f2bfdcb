// Handles: every object that the driver hands out is in one registry, so that a wrong handle
// (freed, of another kind, a number) is an error and never a crash. A CUkernel passed where a
// CUfunction is expected is told by its kind.
//
// The registry and all that is in it are never destroyed: programs call the driver from
// atexit handlers and from threads that outlive main.
#pragma once
#include <memory>

#include "lib/sim/driver/api.h"

namespace egpu::sim {

enum class ObjectKind {
  context,
  stream,
  event,
  module,
  function,
  library,
  kernel,
  graph,
  node,
  graph_exec,
  link,
  pool,
  user_object,
  array
};

class Object : public std::enable_shared_from_this<Object> {
 public:
  explicit Object(ObjectKind kind) : kind_(kind) {}
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;
  virtual ~Object() = default;
  ObjectKind kind() const { return kind_; }

 private:
  ObjectKind kind_;
};

/// Makes the object known by its address, which is returned.
Handle publish(std::shared_ptr<Object> object);
/// Forgets the handle; those who hold the object keep it. The object, or null if unknown.
std::shared_ptr<Object> retire(Handle handle);
/// The object, or null if there is none or it is of another kind.
std::shared_ptr<Object> find_object(Handle handle, ObjectKind kind);

template <class T>
std::shared_ptr<T> find(Handle handle) {
  return std::static_pointer_cast<T>(find_object(handle, T::kKind));
}

inline Handle handle_of(const Object &object) { return const_cast<Object *>(&object); }

}  // namespace egpu::sim
