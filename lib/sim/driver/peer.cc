#include "lib/sim/driver/peer.h"

#include <algorithm>

#include "lib/sim/driver/export.h"

namespace egpu::sim {
namespace {

struct Access {
  Context *accessor, *owner;
  bool operator==(const Access &) const = default;
};
struct Table {
  std::mutex mutex;
  std::vector<Access> all;
};
Table &table() {
  static Table &table = *new Table;
  return table;
}

bool device_has_access(const Device &device, const Context &owner) {
  const std::lock_guard lock(table().mutex);
  return std::any_of(table().all.begin(), table().all.end(), [&](const Access &access) {
    return access.owner == &owner && &access.accessor->device == &device;
  });
}

}  // namespace

std::vector<Device *> peer_devices(Context &owner) {
  std::vector<Device *> devices;
  const std::lock_guard lock(table().mutex);
  for (const Access &access : table().all)
    if (access.owner == &owner) devices.push_back(&access.accessor->device);
  return devices;
}

Status enable_peer_access(Context &accessor, Context &owner) {
  if (&accessor == &owner) return kInvalidContext;
  if (&accessor.device == &owner.device) return kPeerAccessUnsupported;
  {
    const std::lock_guard lock(table().mutex);
    const Access wanted{&accessor, &owner};
    if (std::find(table().all.begin(), table().all.end(), wanted) != table().all.end())
      return kPeerAccessAlreadyEnabled;
    table().all.push_back(wanted);
  }
  share_allocations(owner, accessor.device, true);
  return kSuccess;
}

Status disable_peer_access(Context &accessor, Context &owner) {
  {
    const std::lock_guard lock(table().mutex);
    if (std::erase(table().all, Access{&accessor, &owner}) == 0) return kPeerAccessNotEnabled;
  }
  if (!device_has_access(accessor.device, owner)) share_allocations(owner, accessor.device, false);
  return kSuccess;
}

void forget_peer_access(Context &context) {
  std::vector<Access> ended;
  {
    const std::lock_guard lock(table().mutex);
    for (const Access &access : table().all)
      if (access.accessor == &context || access.owner == &context) ended.push_back(access);
  }
  for (const Access &access : ended) disable_peer_access(*access.accessor, *access.owner);
}

}  // namespace egpu::sim

using namespace egpu::sim;

namespace {

Status two_devices(Ordinal from, Ordinal to) {
  if (!driver().initialized) return kNotInitialized;
  return find_device(from) && find_device(to) ? kSuccess : kInvalidDevice;
}

}  // namespace

CU_API(cuDeviceCanAccessPeer, (int *can, Ordinal device, Ordinal peer), (can, device, peer)) {
  if (!can) return kInvalidValue;
  CU_TRY(two_devices(device, peer));
  *can = device != peer;
  return kSuccess;
}
// CUdevice_P2PAttribute: 1 performance rank, 2 access, 3 atomics, 4 arrays, 5 some atomics.
CU_API(cuDeviceGetP2PAttribute, (int *value, int attribute, Ordinal from, Ordinal to),
       (value, attribute, from, to)) {
  if (!value || attribute < 1 || attribute > 5) return kInvalidValue;
  CU_TRY(two_devices(from, to));
  if (from == to) return kInvalidDevice;
  *value = attribute == 2 || attribute == 3;
  return kSuccess;
}
CU_API(cuCtxEnablePeerAccess, (Handle handle, unsigned flags), (handle, flags)) {
  CU_CONTEXT(context);
  const std::shared_ptr<Context> peer = find<Context>(handle);
  if (!peer || peer->destroyed) return kInvalidContext;
  return flags != 0 ? kInvalidValue : enable_peer_access(*context, *peer);
}
CU_API(cuCtxDisablePeerAccess, (Handle handle), (handle)) {
  CU_CONTEXT(context);
  const std::shared_ptr<Context> peer = find<Context>(handle);
  return peer ? disable_peer_access(*context, *peer) : kInvalidContext;
}
