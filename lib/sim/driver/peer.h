// Peer access: which contexts' kernels may use the device memory of which contexts on other devices.
#pragma once
#include "lib/sim/driver/allocation.h"

namespace egpu::sim {

/// kPeerAccessAlreadyEnabled; kInvalidContext: the same context; kPeerAccessUnsupported: the same device.
Status enable_peer_access(Context &accessor, Context &owner);
/// kPeerAccessNotEnabled.
Status disable_peer_access(Context &accessor, Context &owner);
/// A context's end.
void forget_peer_access(Context &context);

/// The devices whose kernels may use the context's memory, besides its own.
std::vector<Device *> peer_devices(Context &owner);

}  // namespace egpu::sim
