#include "lib/loader/map/layout.h"
#include "tools/common/messages.h"
#include "tools/egpu-map/commands.h"
#include "tools/egpu-map/key.h"

namespace egpu::map_tool {
namespace {

// Renders views as they come: text blocks with an empty line between, or one JSON array.
class Renderer {
 public:
  Renderer(const Options &options, bool show_pid) : json_(options.json), print_(print_options(options)) {
    print_.show_pid = show_pid;
  }

  void add(const print::View &view, const map::Snapshot &snapshot) {
    if (json_)
      body_ += (body_.empty() ? "" : ",\n") + print::view_json(view, snapshot, print_);
    else
      body_ += (body_.empty() ? "" : "\n") + print::view_text(view, snapshot, print_);
  }
  std::string text() const { return json_ ? (body_.empty() ? "[]\n" : "[" + body_ + "]\n") : body_; }

 private:
  bool json_;
  print::PrintOptions print_;
  std::string body_;
};

bool several_processes(const std::vector<Chosen> &chosen) {
  for (const Chosen &c : chosen)
    if (c.session->pid != chosen.front().session->pid) return true;
  return false;
}

bool refuse_ring(const Chosen &chosen) {
  const MapSpec &spec = chosen.session->snapshot.maps[chosen.map].spec;
  if (spec.shape.type != map::Type::ringbuf) return false;
  cli::error("map '" + spec.name + "' is a ring buffer; egpu-load prints its lines as they come");
  return true;
}

}  // namespace

int dump(const Options &options, const std::string &name) {
  auto sessions = need_sessions(options);
  if (!sessions) return cli::kFailed;
  auto chosen = name.empty() ? choose_all(*sessions, options) : choose(*sessions, name);
  if (chosen.empty() && !name.empty()) return cli::kFailed;
  Renderer renderer(options, several_processes(chosen));
  bool failed = sessions->failures > 0;
  for (const Chosen &c : chosen) {
    if (refuse_ring(c)) return cli::kFailed;
    auto view = print::make_view(c.session->snapshot, c.session->btf, c.map, options.all, options.order);
    if (view)
      renderer.add(*view, c.session->snapshot);
    else
      cli::error(std::to_string(c.session->pid) + ": " + view.error().message), failed = true;
  }
  int status = write_or_complain(renderer.text());
  return failed ? cli::kFailed : status;
}

int lookup(const Options &options, const std::string &name, const std::string &key) {
  auto sessions = need_sessions(options);
  if (!sessions) return cli::kFailed;
  auto chosen = choose(*sessions, name);
  if (chosen.empty()) return cli::kFailed;
  Renderer renderer(options, false);
  bool found = false;
  for (const Chosen &c : chosen) {
    if (refuse_ring(c)) return cli::kFailed;
    auto view = print::make_view(c.session->snapshot, c.session->btf, c.map, true, options.order);
    if (!view) return cli::error(view.error().message), cli::kFailed;
    std::vector<print::Row> rows;
    for (print::Row &row : view->rows) {
      auto matches = key_matches(c.session->snapshot, row.key, key);
      if (!matches) return cli::error("map '" + name + "': " + matches.error().message), cli::kFailed;
      if (*matches) rows.push_back(std::move(row));
    }
    if (rows.empty()) continue;
    found = true;
    view->rows = std::move(rows);
    renderer.add(*view, c.session->snapshot);
  }
  if (!found) {
    cli::error("map '" + name + "' has no entry with key '" + key + "'");
    return cli::kFailed;
  }
  return write_or_complain(renderer.text());
}

}  // namespace egpu::map_tool
