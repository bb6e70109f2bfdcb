// User objects: a destructor of the program's, called when nobody refers to its resource any more:
// the program (so many times), graphs, and executables and launches made from those.
#pragma once
#include "lib/sim/driver/graph.h"

namespace egpu::sim {

/// Its end is the end of the last reference: calls the program's destructor and forgets the handle.
struct Resource {
  Resource(void (*its_destroy)(void *), void *its_pointer) : destroy(its_destroy), pointer(its_pointer) {}
  Resource(const Resource &) = delete;
  Resource &operator=(const Resource &) = delete;
  ~Resource();

  void (*const destroy)(void *);
  void *const pointer;
  Handle handle = nullptr;
};

class UserObject : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::user_object;
  UserObject(const std::shared_ptr<Resource> &its_resource, unsigned references)
      : Object(kKind), resource_(its_resource), own_(its_resource), own_count_(references) {}

  std::shared_ptr<Resource> resource() const { return resource_.lock(); }
  /// kInvalidValue: fewer references than are given back.
  Status change_references(unsigned count, bool more);

 private:
  std::mutex mutex_;
  const std::weak_ptr<Resource> resource_;
  std::shared_ptr<Resource> own_;  // for the program's references
  unsigned own_count_;
};

}  // namespace egpu::sim
