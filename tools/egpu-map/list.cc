#include <nlohmann/json.hpp>

#include "lib/loader/map/layout.h"
#include "lib/loader/map/merge.h"
#include "tools/common/messages.h"
#include "tools/egpu-map/commands.h"
#include "tools/print/table.h"

namespace egpu::map_tool {
namespace {

struct Line {
  const Session *session;
  const MapSpec *spec;
  uint64_t entry_count;
  std::string key, value;
};

Line describe(const Chosen &chosen) {
  const map::MapData &map = chosen.session->snapshot.maps[chosen.map];
  const map::Btf &btf = chosen.session->btf;
  Line line{chosen.session, &map.spec, map.spec.shape.max_entries, "", ""};
  if (map::is_hash(map.spec.shape.type)) {
    auto status = map::hash_status(map);
    line.entry_count = status ? status->count : 0;
  }
  bool is_globals = map.spec.name.starts_with(".");
  if (map.spec.key_type_id != 0) line.key = btf.c_name(map.spec.key_type_id);
  if (is_globals)
    line.value = "variables";
  else if (map.spec.value_type_id != 0)
    line.value = btf.c_name(map.spec.value_type_id);
  else
    line.value = std::to_string(map.spec.shape.value_size) + " bytes";
  return line;
}

uint64_t age_ns(const Session &session) {
  uint64_t now = now_ns();
  return now > session.snapshot.time_ns ? now - session.snapshot.time_ns : 0;
}

std::string json_text(const std::vector<Line> &lines) {
  auto out = nlohmann::ordered_json::array();
  for (const Line &line : lines) {
    const map::SessionInfo &info = line.session->snapshot.session;
    nlohmann::ordered_json one = {{"pid", line.session->pid},
                                  {"command", info.command},
                                  {"object", info.object},
                                  {"device", info.device_name},
                                  {"map", line.spec->name},
                                  {"type", print::type_name(line.spec->shape.type)},
                                  {"entries", line.entry_count},
                                  {"max_entries", line.spec->shape.max_entries},
                                  {"key", line.key},
                                  {"value", line.value}};
    if (!line.spec->unit.empty()) one["unit"] = line.spec->unit;
    if (line.session->snapshot.time_ns != 0) one["age_ms"] = age_ns(*line.session) / 1000000;
    out.push_back(std::move(one));
  }
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string shortened(const std::string &text) {
  constexpr size_t kColumns = 32;
  return text.size() <= kColumns ? text : text.substr(0, kColumns - 3) + "...";
}

std::string plain_text(const std::string &text) {
  print::Value value;
  value.kind = print::Value::Kind::text, value.text = text;
  return print::inline_text(value);  // without control characters
}

std::string table_text(const std::vector<Line> &lines, bool color) {
  print::Table table;
  for (const Line &line : lines) {
    const map::Snapshot &snapshot = line.session->snapshot;
    bool hash = map::is_hash(line.spec->shape.type);
    std::string entries = std::to_string(line.entry_count);
    table.add_row();
    table.set("PID", {std::to_string(line.session->pid), true});
    table.set("COMMAND", {plain_text(shortened(snapshot.session.command))});
    table.set("PROBE", {plain_text(snapshot.session.object)});
    table.set("MAP", {plain_text(line.spec->name)});
    table.set("TYPE", {print::type_name(line.spec->shape.type)});
    table.set("ENTRIES",
              {hash ? entries + "/" + std::to_string(line.spec->shape.max_entries) : entries, true});
    table.set("KEY", {plain_text(line.key)});
    table.set("VALUE",
              {plain_text(line.value + (line.spec->unit.empty() ? "" : " (" + line.spec->unit + ")"))});
    table.set("AGE", {snapshot.time_ns == 0 ? "-" : print::duration_text(age_ns(*line.session)), true});
  }
  return table.text(color, "");
}

}  // namespace

int list(const Options &options) {
  auto sessions = need_sessions(options);
  if (!sessions) return cli::kFailed;
  std::vector<Line> lines;
  for (const Chosen &chosen : choose_all(*sessions, options)) lines.push_back(describe(chosen));
  std::string text = options.json ? json_text(lines) : table_text(lines, cli::use_color(options.color, 1));
  int status = write_or_complain(text);
  return sessions->failures > 0 ? cli::kFailed : status;
}

}  // namespace egpu::map_tool
