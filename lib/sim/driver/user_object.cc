#include "lib/sim/driver/user_object.h"

#include "lib/sim/driver/export.h"

namespace egpu::sim {

Resource::~Resource() {
  retire(handle);
  destroy(pointer);
}

Status UserObject::change_references(unsigned count, bool more) {
  std::shared_ptr<Resource> dropped;  // ends after the lock
  const std::lock_guard lock(mutex_);
  if (count == 0 || (!more && count > own_count_)) return kInvalidValue;
  own_count_ = more ? own_count_ + count : own_count_ - count;
  if (own_count_ == 0)
    dropped = std::move(own_);
  else if (!own_)
    own_ = resource();
  return kSuccess;
}

}  // namespace egpu::sim

using namespace egpu::sim;

namespace {
constexpr unsigned kNoDestructorSync = 1, kMoveReferences = 1;
}  // namespace

CU_API(cuUserObjectCreate,
       (Handle * made, void *pointer, void (*destroy)(void *), unsigned references, unsigned flags),
       (made, pointer, destroy, references, flags)) {
  if (!driver().initialized) return kNotInitialized;
  if (!made || !destroy || references == 0 || flags != kNoDestructorSync) return kInvalidValue;
  auto resource = std::make_shared<Resource>(destroy, pointer);
  resource->handle = publish(std::make_shared<UserObject>(resource, references));
  *made = resource->handle;
  return kSuccess;
}
CU_API(cuUserObjectRetain, (Handle handle, unsigned count), (handle, count)) {
  const std::shared_ptr<UserObject> object = find<UserObject>(handle);
  return object ? object->change_references(count, true) : kInvalidValue;
}
CU_API(cuUserObjectRelease, (Handle handle, unsigned count), (handle, count)) {
  const std::shared_ptr<UserObject> object = find<UserObject>(handle);
  return object ? object->change_references(count, false) : kInvalidValue;
}
CU_API(cuGraphRetainUserObject, (Handle graph_handle, Handle handle, unsigned count, unsigned flags),
       (graph_handle, handle, count, flags)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(graph_handle, &graph));
  const std::shared_ptr<UserObject> object = find<UserObject>(handle);
  if (!object || count == 0 || flags > kMoveReferences) return kInvalidValue;
  const std::shared_ptr<Resource> resource = object->resource();
  if (!resource) return kInvalidValue;
  if (flags == kMoveReferences) CU_TRY(object->change_references(count, false));
  Graph::Reference &reference = graph->user_objects[handle];
  reference.resource = resource;
  reference.count += count;
  return kSuccess;
}
CU_API(cuGraphReleaseUserObject, (Handle graph_handle, Handle handle, unsigned count),
       (graph_handle, handle, count)) {
  std::shared_ptr<Graph> graph;
  CU_TRY(find_graph(graph_handle, &graph));
  const auto found = graph->user_objects.find(handle);
  if (found == graph->user_objects.end() || count == 0 || count > found->second.count) return kInvalidValue;
  found->second.count -= count;
  if (found->second.count == 0) graph->user_objects.erase(found);
  return kSuccess;
}
