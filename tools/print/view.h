// A map of a snapshot, ready to render: its entries as values, in the order to show them.
#pragma once
#include <string>
#include <vector>

#include "egpu/result.h"
#include "lib/loader/map/merge.h"
#include "tools/print/value.h"

namespace egpu::print {

enum class Order {
  automatic,  // hash maps by value, arrays by index
  by_value,   // largest first value first
  by_key,
};

struct Row {
  Value key, value;
  int sm = -1;                   // of a map that is shown per SM
  std::vector<uint8_t> raw_key;  // identifies the row between two snapshots
};

struct View {
  int pid = 0;
  std::string name, type, unit;
  std::string key_name;     // of a key that is a single value
  bool is_single = false;   // an array of one element: shown as the value itself
  bool is_globals = false;  // .bss, .data, .rodata: shown as variables
  bool is_per_sm = false;
  std::vector<Row> rows;
  map::HashStatus hash;
};

/// `all`: with elements and SMs whose value is zero throughout.
Result<View> make_view(const map::Snapshot &snapshot, const map::Btf &btf, size_t map_index, bool all,
                       Order order);

/// "hash", "array", "percpu_hash", "percpu_array", "ringbuf".
std::string type_name(map::Type type);

/// The indices of the maps that a user sees without asking: not internal ones, no ring buffers.
std::vector<size_t> visible_maps(const map::Snapshot &snapshot, bool all);

}  // namespace egpu::print
