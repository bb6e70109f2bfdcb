#include "tools/egpu-map/delta.h"

#include <map>

namespace egpu::map_tool {
namespace {

using print::Field;
using print::Value;

uint64_t count_of(const Value &histogram) {
  uint64_t count = 0;
  for (uint64_t slot : histogram.slots) count += slot;
  return count;
}

Value number(uint64_t n, const std::string &unit, Value::Kind kind = Value::Kind::unsigned_number) {
  Value value;
  value.kind = kind, value.number = n, value.unit = unit;
  return value;
}

Value difference(uint64_t now, uint64_t before, const std::string &unit) {
  return number(now - before, unit, Value::Kind::signed_number);
}

// The fields that stand for one value named `name`.
void expand(const std::string &name, const Value &now, const Value *before, std::vector<Field> *out) {
  if (before != nullptr && before->kind != now.kind) before = nullptr;
  if (now.is_number()) {
    out->push_back({name, now});
    out->push_back({"+" + name, difference(now.number, before ? before->number : 0, now.unit)});
  } else if (now.kind == Value::Kind::histogram) {
    uint64_t count = count_of(now);
    out->push_back({"values", number(count, "")});
    out->push_back({"+values", difference(count, before ? count_of(*before) : 0, "")});
    out->push_back({name, now});
  } else if (now.kind == Value::Kind::record) {
    Value record = now;
    record.fields.clear();
    for (size_t i = 0; i < now.fields.size(); i++)
      expand(now.fields[i].name, now.fields[i].value,
             before && i < before->fields.size() ? &before->fields[i].value : nullptr, &record.fields);
    out->push_back({name, std::move(record)});
  } else {
    out->push_back({name, now});
  }
}

}  // namespace

void add_deltas(const print::View &before, print::View *now) {
  std::map<std::pair<std::vector<uint8_t>, int>, const Value *> old;
  for (const print::Row &row : before.rows) old[{row.raw_key, row.sm}] = &row.value;
  for (print::Row &row : now->rows) {
    auto it = old.find({row.raw_key, row.sm});
    std::vector<Field> fields;
    expand(now->name, row.value, it != old.end() ? it->second : nullptr, &fields);
    if (row.value.kind == Value::Kind::record) {
      row.value = std::move(fields.front().value);
    } else if (fields.size() > 1) {
      Value record;
      record.kind = Value::Kind::record, record.fields = std::move(fields);
      row.value = std::move(record);
    }
  }
}

}  // namespace egpu::map_tool
