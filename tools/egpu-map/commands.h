// The commands of egpu-map; each returns the exit status.
#pragma once
#include <string>

#include "tools/egpu-map/sessions.h"

namespace egpu::map_tool {

/// A line per map: whose, what type, how full, how old.
int list(const Options &options);
/// Everything in a map; `name` empty: in all maps of all sessions.
int dump(const Options &options, const std::string &name);
/// The entries whose key is `key` (key.h says how keys are written).
int lookup(const Options &options, const std::string &name, const std::string &key);
/// The map every `interval_s` seconds with what was added since; `count` times, 0: until it ends.
int watch(const Options &options, const std::string &name, double interval_s, unsigned count);
/// All maps in the text format that Prometheus reads.
int metrics(const Options &options);

}  // namespace egpu::map_tool
