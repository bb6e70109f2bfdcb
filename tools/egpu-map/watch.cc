#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "lib/loader/map/layout.h"
#include "tools/common/messages.h"
#include "tools/egpu-map/commands.h"
#include "tools/egpu-map/delta.h"

namespace egpu::map_tool {
namespace {

// On a terminal each picture replaces the one before: home, clear each line's rest and what is below.
std::string as_picture(const std::string &text) {
  std::string out = "\033[H";
  for (char c : text) {
    if (c == '\n') out += "\033[K";
    out += c;
  }
  return out + "\033[J";
}

bool has_session(const Sessions &sessions, int pid) {
  return std::any_of(sessions.live.begin(), sessions.live.end(),
                     [&](const Session &s) { return s.pid == pid; });
}

}  // namespace

int watch(const Options &options, const std::string &name, double interval_s, unsigned count) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  std::map<size_t, print::View> before;  // by position among the chosen
  int pid = 0;
  for (unsigned round = 1;; round++) {
    auto sessions = pid == 0 ? need_sessions(options) : open_sessions(options);
    if (!sessions) return cli::kFailed;
    if (pid != 0 && sessions->failures == 0 && !has_session(*sessions, pid)) {
      cli::note("the session of process " + std::to_string(pid) + " has ended");
      return cli::kOk;
    }
    auto chosen = choose(*sessions, name);
    if (chosen.empty()) return cli::kFailed;
    pid = chosen.front().session->pid;
    std::string text;
    for (size_t i = 0; i < chosen.size(); i++) {
      const Session &session = *chosen[i].session;
      auto view = print::make_view(session.snapshot, session.btf, chosen[i].map, options.all, options.order);
      if (!view) return cli::error(view.error().message), cli::kFailed;
      print::View now = *view;
      add_deltas(before.count(i) != 0 ? before[i] : *view, &now);  // nothing was added before the first look
      before[i] = *std::move(view);
      print::PrintOptions print = print_options(options);
      print.show_age = true;
      text += print::view_text(now, session.snapshot, print);
    }
    if (!terminal) text += "\n";
    if (int status = write_or_complain(terminal ? as_picture(text) : text); status != cli::kOk) return status;
    if (round == count) return cli::kOk;
    std::this_thread::sleep_for(std::chrono::duration<double>(interval_s));
  }
}

}  // namespace egpu::map_tool
