// The Prometheus text format, version 0.0.4: a family per map and number in its value.
//
// Names: egpu_<map>[_<field>][_<unit>], counters end in _total. A number that programs only add to
// (a summed map) is a counter, any other a gauge; struct gpu_hist is a histogram, whose buckets'
// `le` is the largest value inside. A log2 histogram has no exact sum, so there is no _sum.
// Source: https://prometheus.io/docs/instrumenting/exposition_formats/
#include <map>
#include <set>

#include "tools/common/messages.h"
#include "tools/egpu-map/commands.h"
#include "tools/print/histogram.h"

namespace egpu::map_tool {
namespace {

using print::Value;

// [a-zA-Z_:][a-zA-Z0-9_:]*; the colon is kept for recording rules.
std::string metric_name(const std::string &text) {
  std::string out;
  for (char c : text) {
    bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    out += fine ? c : '_';
  }
  return out;
}

std::string label_value(const std::string &text) {
  std::string out;
  for (char c : print::valid_utf8(text)) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

struct Family {
  const char *type = "gauge";
  std::string help;
  std::string samples;
};

class Exposition {
 public:
  void add_gauge(const std::string &name, const std::string &help, const std::string &labels, double value) {
    Family &family = families_["egpu_" + name];
    family.help = help;
    char text[32];
    std::snprintf(text, sizeof text, "%.9g", value);
    family.samples += "egpu_" + name + braces(labels) + " " + text + "\n";
  }

  void add_counter(const std::string &name, const std::string &help, const std::string &labels,
                   uint64_t value) {
    Family &family = families_["egpu_" + name];
    family.type = "counter", family.help = help;
    family.samples += "egpu_" + name + braces(labels) + " " + std::to_string(value) + "\n";
  }

  void add_value(const std::string &name, const Value &value, bool is_counter, const std::string &labels,
                 const std::string &help) {
    switch (value.kind) {
      case Value::Kind::record:
        for (const print::Field &field : value.fields)
          add_value(name + "_" + metric_name(field.name), field.value, is_counter, labels, help);
        return;
      case Value::Kind::list:
        for (size_t i = 0; i < value.fields.size(); i++)
          add_value(name, value.fields[i].value, is_counter, with(labels, "element", std::to_string(i)),
                    help);
        return;
      case Value::Kind::histogram:
        add_histogram(print::with_unit(name, metric_name(value.unit)), value, labels, help);
        return;
      case Value::Kind::unsigned_number:
      case Value::Kind::signed_number:
      case Value::Kind::boolean:
        break;
      default:
        return;  // names and addresses are no numbers
    }
    std::string full =
        "egpu_" + print::with_unit(name, metric_name(value.unit)) + (is_counter ? "_total" : "");
    Family &family = families_[full];
    family.type = is_counter ? "counter" : "gauge", family.help = help;
    std::string text =
        value.kind == Value::Kind::boolean ? std::to_string(value.number) : print::inline_text(value);
    family.samples += full + braces(labels) + " " + text + "\n";
  }

  static std::string with(const std::string &labels, const std::string &name, const std::string &value) {
    return labels + (labels.empty() ? "" : ",") + metric_name(name) + "=\"" + label_value(value) + "\"";
  }

  std::string text() const {
    std::string out;
    for (const auto &[name, family] : families_) {
      out += "# HELP " + name + " " + family.help + "\n# TYPE " + name + " " + family.type + "\n" +
             family.samples;
    }
    return out;
  }

 private:
  static std::string braces(const std::string &labels) { return labels.empty() ? "" : "{" + labels + "}"; }

  void add_histogram(const std::string &name, const Value &value, const std::string &labels,
                     const std::string &help) {
    Family &family = families_["egpu_" + name];
    family.type = "histogram", family.help = help;
    uint64_t count = 0;
    for (const print::Interval &interval : print::intervals(value.slots)) {
      count += interval.count;
      if (interval.high == UINT64_MAX) continue;  // that is +Inf
      family.samples += "egpu_" + name + "_bucket" +
                        braces(with(labels, "le", std::to_string(interval.high))) + " " +
                        std::to_string(count) + "\n";
    }
    family.samples +=
        "egpu_" + name + "_bucket" + braces(with(labels, "le", "+Inf")) + " " + std::to_string(count) + "\n";
    family.samples += "egpu_" + name + "_count" + braces(labels) + " " + std::to_string(count) + "\n";
  }

  std::map<std::string, Family> families_;
};

std::string plain(const Value &key) {
  return key.kind == Value::Kind::kernel || key.kind == Value::Kind::site || key.kind == Value::Kind::text
             ? key.text
             : print::inline_text(key);
}

std::string key_labels(const print::View &view, const print::Row &row, std::string labels) {
  if (row.sm >= 0)
    labels = Exposition::with(labels, view.key_name == "sm" ? "on_sm" : "sm", std::to_string(row.sm));
  if (view.is_single) return labels;
  if (row.key.kind != Value::Kind::record) return Exposition::with(labels, view.key_name, plain(row.key));
  for (const print::Field &field : row.key.fields)
    labels = Exposition::with(labels, field.name, plain(field.value));
  return labels;
}

void add_map(const Chosen &chosen, const print::View &view, Exposition *out) {
  const map::Snapshot &snapshot = chosen.session->snapshot;
  const MapSpec &spec = snapshot.maps[chosen.map].spec;
  std::string labels = Exposition::with("", "pid", std::to_string(chosen.session->pid));
  if (view.type.ends_with("hash"))
    out->add_counter("map_dropped_total", "Inserts refused because the map was full.",
                     Exposition::with(labels, "map", view.name), view.hash.dropped);
  std::string help = "Map " + label_value(view.name) + " of " + label_value(snapshot.session.object) + ".";
  for (const print::Row &row : view.rows) {
    std::string its = key_labels(view, row, labels);
    if (view.is_globals)
      for (const print::Field &field : row.value.fields)
        out->add_value(metric_name(field.name), field.value, spec.summed, its, help);
    else
      out->add_value(metric_name(view.name), row.value, spec.summed, its, help);
  }
}

}  // namespace

int metrics(const Options &options) {
  // No session is a fact worth reporting to a monitor, not an error.
  Sessions sessions = open_sessions(options);
  Exposition out;
  std::set<int> pids;
  uint64_t now = now_ns();
  bool failed = sessions.failures > 0;
  for (const Session &session : sessions.live) {
    if (!pids.insert(session.pid).second || session.snapshot.time_ns == 0 || now < session.snapshot.time_ns)
      continue;
    out.add_gauge("snapshot_age_seconds", "Age of the data.",
                  Exposition::with("", "pid", std::to_string(session.pid)),
                  static_cast<double>(now - session.snapshot.time_ns) / 1e9);
  }
  out.add_gauge("sessions", "Processes that are probed.", "", static_cast<double>(pids.size()));
  for (const Chosen &chosen : choose_all(sessions, options)) {
    auto view = print::make_view(chosen.session->snapshot, chosen.session->btf, chosen.map, options.all,
                                 print::Order::by_key);
    if (view)
      add_map(chosen, *view, &out);
    else
      cli::error(view.error().message), failed = true;
  }
  int status = write_or_complain(out.text());
  return failed ? cli::kFailed : status;
}

}  // namespace egpu::map_tool
