#include "tools/print/view.h"

#include <algorithm>
#include <tuple>

namespace egpu::print {
namespace {

// The number that a row is sorted by: the first one in the value; a histogram's number of events.
uint64_t weight(const Value &value) {
  switch (value.kind) {
    case Value::Kind::histogram: {
      uint64_t sum = 0;
      for (uint64_t slot : value.slots) sum += slot;
      return sum;
    }
    case Value::Kind::record:
    case Value::Kind::list:
      return value.fields.empty() ? 0 : weight(value.fields.front().value);
    // Signed numbers sort among each other: moved up by half the range.
    case Value::Kind::signed_number:
      return value.number ^ uint64_t { 1 } << 63;
    default:
      return value.number;
  }
}

bool key_less(const Value &a, const Value &b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.kind == Value::Kind::record || a.kind == Value::Kind::list) {
    return std::lexicographical_compare(
        a.fields.begin(), a.fields.end(), b.fields.begin(), b.fields.end(),
        [](const Field &x, const Field &y) { return key_less(x.value, y.value); });
  }
  if (a.text != b.text) return a.text < b.text;
  return weight(a) < weight(b);
}

void sort_rows(Order order, bool is_hash, std::vector<Row> *rows) {
  std::stable_sort(rows->begin(), rows->end(), [](const Row &a, const Row &b) {
    if (key_less(a.key, b.key)) return true;
    if (key_less(b.key, a.key)) return false;
    return a.sm < b.sm;
  });
  if (order == Order::by_value || (order == Order::automatic && is_hash))
    std::stable_sort(rows->begin(), rows->end(),
                     [](const Row &a, const Row &b) { return weight(a.value) > weight(b.value); });
}

}  // namespace

std::string type_name(map::Type type) {
  switch (type) {
    case map::Type::hash:
      return "hash";
    case map::Type::array:
      return "array";
    case map::Type::percpu_hash:
      return "percpu_hash";
    case map::Type::percpu_array:
      return "percpu_array";
    case map::Type::ringbuf:
      return "ringbuf";
  }
  return "unknown";
}

std::vector<size_t> visible_maps(const map::Snapshot &snapshot, bool all) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < snapshot.maps.size(); i++) {
    const MapSpec &spec = snapshot.maps[i].spec;
    if (spec.shape.type != map::Type::ringbuf && (all || !spec.internal)) indices.push_back(i);
  }
  return indices;
}

Result<View> make_view(const map::Snapshot &snapshot, const map::Btf &btf, size_t map_index, bool all,
                       Order order) {
  const map::MapData &data = snapshot.maps[map_index];
  const MapSpec &spec = data.spec;
  const bool is_hash = map::is_hash(spec.shape.type);
  View view;
  view.pid = snapshot.session.pid;
  view.name = spec.name, view.type = type_name(spec.shape.type), view.unit = spec.unit;
  view.key_name = key_name(btf, spec.key_type_id, is_hash ? "key" : "index");
  view.is_per_sm = data.shard_count > 1 && !spec.summed;
  view.is_single = !is_hash && spec.shape.max_entries == 1 && !view.is_per_sm;
  view.is_globals = view.is_single && spec.name.starts_with(".");
  TRY(auto entries, map::entries(data, btf, !all && !view.is_single));
  TRY(view.hash, map::hash_status(data));
  for (map::Entry &entry : entries) {
    Row row{make_value(snapshot, btf, spec.key_type_id, entry.key, ""),
            make_value(snapshot, btf, spec.value_type_id, entry.value, spec.unit),
            entry.shard,
            {}};
    row.raw_key = std::move(entry.key);
    view.rows.push_back(std::move(row));
  }
  sort_rows(order, is_hash, &view.rows);
  return view;
}

}  // namespace egpu::print
