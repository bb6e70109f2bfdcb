// The live sessions with a fresh copy of their maps, and the maps a user means by a name.
//
// A session's egpu-load is asked for a snapshot first; if it does not answer, what the file holds
// is used and a warning says how old it is. A session whose file cannot be read is reported and
// counted, the others go on.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lib/loader/map/btf.h"
#include "lib/loader/map/snapshot.h"
#include "tools/print/print.h"

namespace egpu::map_tool {

struct Session {
  int pid = 0;
  map::Snapshot snapshot;
  map::Btf btf;
};

struct Sessions {
  std::vector<Session> live;
  int failures = 0;      // sessions that could not be read; reported already
  int without_maps = 0;  // live ones that have no CUDA context yet
};

// What all commands have in common.
struct Options {
  bool json = false, verbose = false, all = false;
  std::string color = "auto";
  print::Order order = print::Order::automatic;
};

uint64_t now_ns();  // CLOCK_MONOTONIC

Sessions open_sessions(const Options &options);

/// open_sessions, and an error message if there is none. Nothing: the status to exit with is 1.
std::optional<Sessions> need_sessions(const Options &options);

struct Chosen {
  const Session *session;
  size_t map;
};

/// The maps that NAME or PID:NAME means, more than one only if the process has several CUDA
/// contexts. Empty: there is none, or several processes have one; said already.
std::vector<Chosen> choose(const Sessions &sessions, const std::string &name);

/// All maps that are shown without being named.
std::vector<Chosen> choose_all(const Sessions &sessions, const Options &options);

print::PrintOptions print_options(const Options &options);

/// Writes and returns the exit status.
int write_or_complain(const std::string &text);

}  // namespace egpu::map_tool
