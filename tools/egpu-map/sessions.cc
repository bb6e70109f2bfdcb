#include "tools/egpu-map/sessions.h"

#include <dirent.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <tuple>

#include "egpu/near_name.h"
#include "lib/loader/map/snapshot_file.h"
#include "lib/loader/session/channel.h"
#include "lib/loader/session/control.h"
#include "lib/loader/session/runtime_dir.h"
#include "tools/common/messages.h"

namespace egpu::map_tool {
namespace {

constexpr int kAskTimeoutMs = 2000;
constexpr uint64_t kStaleNs = 1'000'000'000;

// "maps", and "maps.2" and so on of further CUDA contexts; not "maps.new", which is being made.
std::vector<std::string> snapshot_paths(const std::string &directory) {
  std::vector<std::string> paths;
  std::unique_ptr<DIR, int (*)(DIR *)> dir(opendir(directory.c_str()), closedir);
  if (!dir) return paths;
  while (const dirent *entry = readdir(dir.get())) {
    std::string name = entry->d_name;
    if (name == "maps" || (name.starts_with("maps.") && !name.ends_with(".new")))
      paths.push_back(directory + "/" + name);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<Session> open_session(pid_t pid, const std::string &path) {
  TRY(auto file, map::SnapshotFile::open(path));
  TRY(auto snapshot, file.read());
  auto btf = map::Btf::parse(snapshot.btf);
  if (!btf) return std::move(btf).error().in(path);
  return Session{pid, std::move(snapshot), *std::move(btf)};
}

// A session may end at any moment, also between finding it and reading its file.
bool has_ended(const session::Live &session) {
  return !session::socket_is_listening(session::control_path(session.directory));
}

void report_age(const Session &session, bool is_fresh, bool verbose) {
  uint64_t now = now_ns(), time = session.snapshot.time_ns;
  std::string who = "process " + std::to_string(session.pid) + ": ";
  if (time == 0) {
    if (verbose || !is_fresh) cli::note(who + "no data has arrived yet");
    return;
  }
  uint64_t age = now > time ? now - time : 0;
  if (verbose || !is_fresh || (age > kStaleNs && !session.snapshot.is_final))
    cli::note(who + "data is " + print::duration_text(age) + " old" +
              (session.snapshot.is_final ? " and final" : ""));
}

std::string list_of_names(const Sessions &sessions) {
  std::string names;
  size_t count = 0;
  for (const Session &session : sessions.live) {
    for (size_t map : print::visible_maps(session.snapshot, false)) {
      if (++count > 20) return names + ", ...";
      names += (names.empty() ? "" : ", ") + std::to_string(session.pid) + ":" +
               session.snapshot.maps[map].spec.name;
    }
  }
  return names;
}

void report_unknown(const Sessions &sessions, const std::string &name) {
  std::vector<std::string> candidates;
  for (const Session &session : sessions.live)
    for (const auto &map : session.snapshot.maps) candidates.push_back(map.spec.name);
  cli::error("no map '" + name + "'");
  std::string near = near_name(name, candidates), names = list_of_names(sessions);
  if (!near.empty()) cli::hint("did you mean '" + near + "'?");
  cli::hint(names.empty() ? "no session has maps to show" : "there are: " + names);
}

}  // namespace

uint64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

Sessions open_sessions(const Options &options) {
  Sessions sessions;
  auto fail = [&](const std::string &message) { cli::error(message), sessions.failures++; };
  auto live = session::live_sessions();
  if (!live) {
    fail(live.error().message);
    return sessions;
  }
  for (const session::Live &one : *live) {
    std::vector<std::string> paths = snapshot_paths(one.directory);
    if (paths.empty()) {
      sessions.without_maps++;
      if (options.verbose)
        cli::note("process " + std::to_string(one.pid) + ": has no maps yet (no CUDA context)");
      continue;
    }
    auto asked = session::ask(one.pid, "snapshot", kAskTimeoutMs);
    if (!asked && has_ended(one)) continue;
    if (!asked) cli::warning("no fresh data: " + asked.error().message);
    for (const std::string &path : paths) {
      auto session = open_session(one.pid, path);
      if (!session) {
        if (!has_ended(one)) fail(session.error().message);
        continue;
      }
      report_age(*session, static_cast<bool>(asked), options.verbose);
      sessions.live.push_back(*std::move(session));
    }
  }
  return sessions;
}

std::optional<Sessions> need_sessions(const Options &options) {
  Sessions sessions = open_sessions(options);
  if (!sessions.live.empty()) return sessions;
  if (sessions.failures > 0) return std::nullopt;
  if (sessions.without_maps > 0) {
    cli::error("no maps yet: the target has made no CUDA context so far");
  } else {
    cli::error("no live session");
    cli::hint("start one: `egpu-load PROBE -- COMMAND`, or `egpu-load --pid PID PROBE`");
  }
  return std::nullopt;
}

std::vector<Chosen> choose(const Sessions &sessions, const std::string &name) {
  int pid = 0;
  std::string bare = name;
  if (size_t colon = name.find(':'); colon != std::string::npos) {
    auto [end, failure] = std::from_chars(name.data(), name.data() + colon, pid);
    if (failure == std::errc() && end == name.data() + colon && pid > 0)
      bare = name.substr(colon + 1);
    else
      pid = 0;
  }
  std::vector<Chosen> found;
  for (const Session &session : sessions.live) {
    if (pid != 0 && session.pid != pid) continue;
    for (size_t i = 0; i < session.snapshot.maps.size(); i++)
      if (session.snapshot.maps[i].spec.name == bare) found.push_back({&session, i});
  }
  if (found.empty()) {
    bool known = std::any_of(sessions.live.begin(), sessions.live.end(),
                             [&](const Session &s) { return s.pid == pid; });
    if (pid != 0 && !known) {
      cli::error("no session of process " + std::to_string(pid));
      if (std::string names = list_of_names(sessions); !names.empty()) cli::hint("there are: " + names);
    } else {
      report_unknown(sessions, bare);
    }
    return {};
  }
  if (std::any_of(found.begin(), found.end(),
                  [&](const Chosen &c) { return c.session->pid != found[0].session->pid; })) {
    std::string names;
    for (const Chosen &c : found)
      names += (names.empty() ? "" : ", ") + std::to_string(c.session->pid) + ":" + bare;
    cli::error("map '" + bare + "' is in several sessions");
    cli::hint("say PID:NAME: " + names);
    return {};
  }
  return found;
}

std::vector<Chosen> choose_all(const Sessions &sessions, const Options &options) {
  std::vector<Chosen> all;
  for (const Session &session : sessions.live)
    for (size_t map : print::visible_maps(session.snapshot, options.all)) all.push_back({&session, map});
  return all;
}

print::PrintOptions print_options(const Options &options) {
  print::PrintOptions out;
  out.color = cli::use_color(options.color, 1);
  out.all = options.all;
  out.order = options.order;
  out.now_ns = now_ns();
  out.show_age = options.json;
  return out;
}

int write_or_complain(const std::string &text) {
  int failure = print::write_stdout(text);
  if (failure == 0) return cli::kOk;
  if (failure != EPIPE) cli::error(std::string("stdout: ") + std::strerror(failure));
  return cli::kFailed;
}

}  // namespace egpu::map_tool
