// What egpu-load and egpu-map print: the maps of a snapshot as text or as JSON.
//
// Text is for people: a table per map, histograms as bars, globals as `name = value`. JSON is one
// object per map: {"map":"launches","pid":4711,"type":"hash","entries":[{"key":{"kernel":"k"},
// "value":23}]}; numbers are numbers, addresses strings, and a key whose value has a unit ends
// with it ("busy_ns"). Both are returned as strings, so that a tool writes whole maps or nothing.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/map/snapshot.h"
#include "tools/print/view.h"

namespace egpu::print {

struct PrintOptions {
  bool color = false;
  bool all = false;       // with internal maps (.rodata) and elements that are zero
  bool show_pid = false;  // titles are PID:NAME
  bool show_age = false;  // titles say how old the data is
  Order order = Order::automatic;
  uint64_t now_ns = 0;  // CLOCK_MONOTONIC, for ages
};

/// All maps, one after the other, an empty line between two.
Result<std::string> text_of(const map::Snapshot &snapshot, const PrintOptions &options);
/// One JSON object per map and line.
Result<std::string> json_lines_of(const map::Snapshot &snapshot, const PrintOptions &options);

// The same for chosen maps, and for views that the caller has filtered.
std::string view_text(const View &view, const map::Snapshot &snapshot, const PrintOptions &options);
std::string view_json(const View &view, const map::Snapshot &snapshot, const PrintOptions &options);
/// A single value as JSON.
std::string value_json(const Value &value);

/// Text from the target with bytes that are no UTF-8 replaced.
std::string valid_utf8(const std::string &text);

/// Writes to standard output and flushes. Returns 0; or errno, EPIPE if nobody reads any more
/// (SIGPIPE does not happen), which is no error to talk about. A tool prints
/// "TOOL: error: stdout: <strerror>" and exits with 1.
int write_stdout(const std::string &text);

/// "12 ms", "3.4 s", "2 min", "5 h".
std::string duration_text(uint64_t ns);

}  // namespace egpu::print
