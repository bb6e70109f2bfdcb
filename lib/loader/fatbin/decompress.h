// The bytes of a fatbin entry's payload, inflated if need be. Sizes are checked before memory is
// taken: at most kMaxImageBytes, and no more than the format can make of that many bytes.
#pragma once
#include <string>

#include "egpu/result.h"
#include "lib/loader/fatbin/container.h"

namespace egpu::fatbin {

Result<std::string> payload_text(const Entry &entry);

}  // namespace egpu::fatbin
