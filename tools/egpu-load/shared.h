// What all targets of one egpu-load run share: the object, the patcher, the outcomes, the voice.
#pragma once
#include <string>
#include <utility>

#include "egpu/bpf2ptx.h"
#include "tools/egpu-load/options.h"
#include "tools/egpu-load/outcome.h"
#include "tools/egpu-load/output.h"
#include "tools/egpu-load/patcher.h"
#include "tools/egpu-load/probes.h"

namespace egpu::load {

struct Shared {
  Shared(const Options &o, CompiledObject compiled, Output out)
      : options(o), object(std::move(compiled)), patcher(probes_of(object), o.save_ptx), output(std::move(out)) {}

  const Options &options;
  const CompiledObject object;
  Patcher patcher;
  Outcomes outcomes;
  Output output;
  std::set<std::string> said;  // warnings are said once

  void warn(const std::string &text);     // stderr: "egpu-load: warning: TEXT", each text once
  void verbose(const std::string &text);  // stderr, with -v only
};

}  // namespace egpu::load
