// Maps as text. One function per shape: globals, a single value, histograms by key, a table.
#include <algorithm>
#include <cstdio>

#include "tools/print/histogram.h"
#include "tools/print/print.h"
#include "tools/print/table.h"

namespace egpu::print {
namespace {

constexpr const char *kBold = "\033[1m", *kDim = "\033[2m", *kReset = "\033[0m";

// A unit that the name does not say already is shown in the heading.
std::string heading(const std::string &name, const std::string &unit) {
  return with_unit(name, unit) == name ? name : name + " (" + unit + ")";
}

std::string with_unit_text(const Value &value) {
  return inline_text(value) + (value.is_number() && !value.unit.empty() ? " " + value.unit : "");
}

void add_cells(const std::string &name, const Value &value, Table *table) {
  if (value.kind == Value::Kind::record) {
    for (const Field &field : value.fields)
      add_cells(name.empty() ? field.name : name + "." + field.name, field.value, table);
    return;
  }
  bool right = value.is_number() || value.kind == Value::Kind::address;
  table->set(heading(name, value.unit), {inline_text(value), right});
}

bool has_histogram(const Value &value) {
  if (value.kind == Value::Kind::histogram) return true;
  return std::any_of(value.fields.begin(), value.fields.end(),
                     [](const Field &f) { return has_histogram(f.value); });
}

Table make_table(const View &view) {
  Table table;
  for (const Row &row : view.rows) {
    table.add_row();
    add_cells(row.key.kind == Value::Kind::record ? "" : view.key_name, row.key, &table);
    if (row.sm >= 0) table.set(view.key_name == "sm" ? "on sm" : "sm", {std::to_string(row.sm), true});
    add_cells(row.value.kind == Value::Kind::record ? "" : view.name, row.value, &table);
  }
  return table;
}

// A value that has histograms in it: plain fields first, then each histogram under its name.
std::string block_text(const Value &value, const std::string &indent) {
  if (value.kind == Value::Kind::histogram) return histogram_text(value.slots, indent);
  std::string plain, bars;
  for (const Field &field : value.fields) {
    if (has_histogram(field.value))
      bars += indent + heading(field.name, field.value.unit) + "\n" + block_text(field.value, indent + "  ");
    else
      plain += indent + field.name + " = " + with_unit_text(field.value) + "\n";
  }
  return plain + bars;
}

std::string count_text(const Value &value) {
  if (value.kind != Value::Kind::histogram) return "";
  uint64_t count = 0;
  for (uint64_t slot : value.slots) count += slot;
  return ", " + std::to_string(count) + (count == 1 ? " value" : " values");
}

std::string title(const View &view, const map::Snapshot &snapshot, const PrintOptions &options,
                  std::string label, const std::string &note) {
  if (options.show_pid) label = std::to_string(view.pid) + ":" + label;
  std::string out = options.color ? kBold + label + kReset : label;
  std::string details = note;
  if (options.show_age && snapshot.time_ns != 0 && options.now_ns >= snapshot.time_ns)
    details += ", " + duration_text(options.now_ns - snapshot.time_ns) + " old";
  if (!details.empty()) out += (options.color ? kDim + details + kReset : details);
  return out + "\n";
}

std::string globals_text(const View &view) {
  std::string out;
  for (const Row &row : view.rows) {
    for (const Field &field : row.value.fields) {
      if (has_histogram(field.value))
        out += heading(field.name, field.value.unit) + count_text(field.value) + "\n" +
               block_text(field.value, "  ");
      else
        out += field.name + " = " + with_unit_text(field.value) + "\n";
    }
    if (row.value.fields.empty()) out += view.name + " = " + with_unit_text(row.value) + "\n";
  }
  return out;
}

std::string key_label(const View &view, const Row &row) {
  std::string text = inline_text(row.key);
  if (row.key.is_number()) text = view.key_name + " " + text;
  if (row.sm >= 0) text += ", sm " + std::to_string(row.sm);
  return view.name + "[" + text + "]";
}

std::string body_text(const View &view, const map::Snapshot &snapshot, const PrintOptions &options) {
  if (view.rows.empty()) return title(view, snapshot, options, view.name, "") + "  (empty)\n";
  const Value &first = view.rows.front().value;
  if (view.is_globals)
    return (options.show_pid ? title(view, snapshot, options, view.name, "") : "") + globals_text(view);
  if (view.is_single && !has_histogram(first) && first.kind != Value::Kind::record) {
    std::string pid = options.show_pid ? std::to_string(view.pid) + ":" : "";
    return pid + view.name + " = " + with_unit_text(first) + "\n";
  }
  if (view.is_single) {
    std::string label = first.kind == Value::Kind::histogram ? heading(view.name, first.unit) : view.name;
    return title(view, snapshot, options, label, count_text(first)) + block_text(first, "  ");
  }
  if (!has_histogram(first)) {
    std::string note =
        ", " + std::to_string(view.rows.size()) + (view.rows.size() == 1 ? " entry" : " entries");
    return title(view, snapshot, options, view.name, note) + make_table(view).text(options.color, "  ");
  }
  std::string out;
  for (const Row &row : view.rows) {
    out +=
        title(view, snapshot, options, heading(key_label(view, row), row.value.unit), count_text(row.value));
    out += block_text(row.value, "  ");
  }
  return out;
}

}  // namespace

std::string view_text(const View &view, const map::Snapshot &snapshot, const PrintOptions &options) {
  std::string out = body_text(view, snapshot, options);
  if (view.hash.dropped > 0)
    out += "  (the map was full: " + std::to_string(view.hash.dropped) + " inserts refused)\n";
  return out;
}

Result<std::string> text_of(const map::Snapshot &snapshot, const PrintOptions &options) {
  TRY(auto btf, map::Btf::parse(snapshot.btf));
  std::string out;
  for (size_t i : visible_maps(snapshot, options.all)) {
    TRY(View view, make_view(snapshot, btf, i, options.all, options.order));
    if (!out.empty()) out += "\n";
    out += view_text(view, snapshot, options);
  }
  return out;
}

std::string duration_text(uint64_t ns) {
  char text[32];
  double s = static_cast<double>(ns) / 1e9;
  if (s < 1)
    std::snprintf(text, sizeof text, "%.0f ms", s * 1e3);
  else if (s < 60)
    std::snprintf(text, sizeof text, "%.1f s", s);
  else if (s < 3600)
    std::snprintf(text, sizeof text, "%.0f min", s / 60);
  else
    std::snprintf(text, sizeof text, "%.0f h", s / 3600);
  return text;
}

}  // namespace egpu::print
