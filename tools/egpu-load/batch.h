// Kernels that are patched and loaded together.
//
// Loading a module waits for the kernels that are running (docs/facts.md, 1), so what was seen
// within a short time goes into one load. A batch is made from seen kernels, asks for the
// addresses of the globals that it needs, and becomes the payload of a `load` message.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lib/loader/session/channel.h"
#include "lib/loader/session/protocol.h"
#include "tools/egpu-load/images.h"
#include "tools/egpu-load/shared.h"

namespace egpu::load {

struct SeenKernel {
  session::Kernel kernel;
  std::string name;
};

// Kernels of one module, patched into one PTX text.
struct Group {
  uint64_t module = 0;
  bool is_library = false;
  std::shared_ptr<const ptx::Plan> plan;
  std::vector<SeenKernel> kernels;
  ptx::Patched patched;  // after patch_groups
};

struct Batch {
  std::vector<Group> groups;         // to be patched
  std::vector<SeenKernel> unprobed;  // stay original: not matched, or refused
};

/// Sorts seen kernels into groups, recording outcomes of those that stay original.
Batch make_batch(std::vector<SeenKernel> seen, Images &images, int cc_major, int cc_minor, Shared &shared);

/// Names among the group's globals that `known` lacks.
std::vector<std::string> missing_globals(const Group &group, const std::map<std::string, uint64_t> &known);

/// Patches every group; kernels that turn out refused move to `unprobed`, empty groups go.
void patch_groups(Batch &batch, const std::map<uint64_t, std::map<std::string, uint64_t>> &globals,
                  const std::map<std::string, uint64_t> &constants, Shared &shared);

/// The content of a load message's file: LoadModule[], LoadKernel[], names and texts. `measure`: the
/// agent is to say what the kernels take.
std::vector<uint8_t> load_file(const Batch &batch, bool measure);

}  // namespace egpu::load
