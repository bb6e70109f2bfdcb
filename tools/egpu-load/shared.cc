#include "tools/egpu-load/shared.h"

#include "tools/common/messages.h"

namespace egpu::load {

void Shared::warn(const std::string &text) {
  if (said.insert(text).second) cli::warning(text);
}

void Shared::verbose(const std::string &text) {
  if (options.verbose) cli::note(text);
}

}  // namespace egpu::load
