// One value of a map as a tree, with the meaning that its C types give it.
//
// In: bytes and their BTF type, and the session's names of kernels and sites. Out: what every
// renderer (text, JSON, metrics) works on. A type's name decides its meaning
// (docs/probe-language.md, "Printing"): gpu_kernel_t, gpu_site_t, gpu_addr_t, gpu_sm_t, struct
// gpu_hist; __unit on a member or map is the unit. Bytes whose type does not fit them, or has none,
// become numbers if they have a number's size, else hex.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lib/loader/map/btf.h"
#include "lib/loader/map/snapshot.h"

namespace egpu::print {

struct Field;

struct Value {
  enum class Kind {
    unsigned_number,
    signed_number,
    boolean,
    text,       // string, enumerator, hex of unknown bytes
    kernel,     // text: its name
    site,       // text: file:line
    address,    // printed in hex
    histogram,  // slots: counts per power of two
    record,     // fields
    list,       // fields without names
  };
  Kind kind = Kind::unsigned_number;
  uint64_t number = 0;  // also the id behind a name; a signed number's two's complement
  std::string text;
  std::string unit;
  std::vector<Field> fields;
  std::vector<uint64_t> slots;

  bool is_number() const { return kind == Kind::unsigned_number || kind == Kind::signed_number; }
};

struct Field {
  std::string name;
  Value value;
};

Value make_value(const map::Snapshot &names, const map::Btf &btf, uint32_t type_id,
                 std::span<const uint8_t> bytes, const std::string &unit);

/// What a key of this type is called: "kernel", "sm", "address", "site"; else `fallback`.
std::string key_name(const map::Btf &btf, uint32_t type_id, const std::string &fallback);

/// `name`, or name_unit: JSON keys carry the unit unless the name says it already.
std::string with_unit(const std::string &name, const std::string &unit);

/// The value on one line: 23, vecadd(float*), 0x7f00, {x=1, y=2}, [1, 2]. Control characters are
/// escaped, because names come from the target.
std::string inline_text(const Value &value);

}  // namespace egpu::print
