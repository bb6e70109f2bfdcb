// Maps as JSON, for programs: see print.h for the form.
#include <nlohmann/json.hpp>

#include "tools/print/histogram.h"
#include "tools/print/print.h"

namespace egpu::print {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Value &value);

Json histogram_json(const Value &value) {
  Json slots = Json::array();
  uint64_t count = 0;
  for (const Interval &i : intervals(value.slots)) {
    slots.push_back({{"low", i.low}, {"high", i.high}, {"count", i.count}});
    count += i.count;
  }
  Json out = Json::object();
  if (!value.unit.empty()) out["unit"] = value.unit;
  out["count"] = count;
  out["slots"] = std::move(slots);
  return out;
}

// A histogram says its unit itself.
std::string json_name(const std::string &name, const Value &value) {
  return value.kind == Value::Kind::histogram ? name : with_unit(name, value.unit);
}

Json to_json(const Value &value) {
  switch (value.kind) {
    case Value::Kind::unsigned_number:
      return value.number;
    case Value::Kind::signed_number:
      return static_cast<int64_t>(value.number);
    case Value::Kind::boolean:
      return value.number != 0;
    case Value::Kind::text:
    case Value::Kind::kernel:
    case Value::Kind::site:
      return value.text;
    case Value::Kind::address:
      return inline_text(value);
    case Value::Kind::histogram:
      return histogram_json(value);
    case Value::Kind::record: {
      Json out = Json::object();
      for (const Field &field : value.fields) out[json_name(field.name, field.value)] = to_json(field.value);
      return out;
    }
    case Value::Kind::list: {
      Json out = Json::array();
      for (const Field &field : value.fields) out.push_back(to_json(field.value));
      return out;
    }
  }
  return nullptr;
}

// {"kernel": "..."}: an object always, so that a script sees what kind of key it has.
Json key_json(const View &view, const Row &row) {
  Json key = row.key.kind == Value::Kind::record ? to_json(row.key) : Json{{view.key_name, to_json(row.key)}};
  if (row.sm >= 0) key[key.contains("sm") ? "on_sm" : "sm"] = row.sm;
  return key;
}

// Names come from the target; bytes that are no UTF-8 become the replacement character.
std::string dump(const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string valid_utf8(const std::string &text) { return Json::parse(dump(text)).get<std::string>(); }

std::string value_json(const Value &value) { return dump(to_json(value)); }

std::string view_json(const View &view, const map::Snapshot &snapshot, const PrintOptions &options) {
  Json out = {{"map", view.name}, {"pid", view.pid}, {"type", view.type}};
  if (options.show_age && snapshot.time_ns != 0 && options.now_ns >= snapshot.time_ns)
    out["age_ms"] = (options.now_ns - snapshot.time_ns) / 1000000;
  Json entries = Json::array();
  for (const Row &row : view.rows)
    entries.push_back({{"key", key_json(view, row)}, {json_name("value", row.value), to_json(row.value)}});
  out["entries"] = std::move(entries);
  if (view.type.ends_with("hash")) out["dropped"] = view.hash.dropped;
  return dump(out);
}

Result<std::string> json_lines_of(const map::Snapshot &snapshot, const PrintOptions &options) {
  TRY(auto btf, map::Btf::parse(snapshot.btf));
  std::string out;
  for (size_t i : visible_maps(snapshot, options.all)) {
    TRY(View view, make_view(snapshot, btf, i, options.all, options.order));
    out += view_json(view, snapshot, options) + "\n";
  }
  return out;
}

}  // namespace egpu::print
