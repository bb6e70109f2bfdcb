#include "tools/print/value.h"

#include <linux/btf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace egpu::print {
namespace {

constexpr int kMaxDepth = 16;
constexpr int kMaxNodes = 1 << 16;  // per value: BTF from a file may describe any tree

const std::vector<std::string> kMeanings = {"gpu_kernel_t", "gpu_site_t", "gpu_addr_t", "gpu_sm_t"};

std::string hex(uint64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
  return text;
}

std::string hex_bytes(std::span<const uint8_t> bytes) {
  std::string out = "0x";
  char text[4];
  for (uint8_t byte : bytes) {
    std::snprintf(text, sizeof text, "%02x", byte);
    out += text;
  }
  return out;
}

uint64_t read_number(std::span<const uint8_t> bytes, bool is_signed) {
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), std::min<size_t>(bytes.size(), sizeof number));
  if (is_signed && bytes.size() < 8 && (bytes.back() & 0x80) != 0) number |= ~uint64_t{0} << 8 * bytes.size();
  return number;
}

class Builder {
 public:
  Builder(const map::Snapshot &names, const map::Btf &btf) : names_(names), btf_(btf) {}

  Value build(uint32_t id, std::span<const uint8_t> bytes, const std::string &unit, int depth) {
    uint64_t size = btf_.size_of(id);
    const map::Btf::Type &type = btf_.type(btf_.resolve(id));
    // A data section's size may be 0 in an object that was not linked; its map's size counts.
    if (type.kind == BTF_KIND_DATASEC) size = bytes.size();
    if (size == 0 || size > bytes.size() || depth > kMaxDepth || ++nodes_ > kMaxNodes)
      return unknown(bytes, unit);
    bytes = bytes.first(size);
    Value value;
    value.unit = unit;
    switch (type.kind) {
      case BTF_KIND_INT:
        integer(id, type, bytes, &value);
        return value;
      case BTF_KIND_ENUM:
      case BTF_KIND_ENUM64:
        enumerator(type, bytes, &value);
        return value;
      case BTF_KIND_PTR:
        value.kind = Value::Kind::address, value.number = read_number(bytes, false);
        return value;
      case BTF_KIND_ARRAY:
        array(type, bytes, depth, &value);
        return value;
      case BTF_KIND_STRUCT:
        if (type.name == "gpu_hist") {
          histogram(bytes, &value);
          return value;
        }
        [[fallthrough]];
      case BTF_KIND_UNION:
      case BTF_KIND_DATASEC:
        record(type, bytes, unit, depth, &value);
        return value;
      default:
        return unknown(bytes, unit);
    }
  }

 private:
  static Value unknown(std::span<const uint8_t> bytes, const std::string &unit) {
    Value value;
    value.unit = unit;
    if (bytes.size() == 1 || bytes.size() == 2 || bytes.size() == 4 || bytes.size() == 8)
      value.number = read_number(bytes, false);
    else
      value.kind = Value::Kind::text, value.text = hex_bytes(bytes);
    return value;
  }

  void integer(uint32_t id, const map::Btf::Type &type, std::span<const uint8_t> bytes, Value *value) const {
    if (bytes.size() > 8) {
      value->kind = Value::Kind::text, value->text = hex_bytes(bytes);
      return;
    }
    value->number = read_number(bytes, type.is_signed);
    std::string meaning = btf_.typedef_among(id, kMeanings);
    auto number = static_cast<uint32_t>(value->number);
    if (meaning == "gpu_kernel_t") {
      auto kernel = names_.kernels.find(number);
      value->kind = Value::Kind::kernel;
      value->text =
          kernel != names_.kernels.end() ? kernel->second.printable : "kernel#" + std::to_string(number);
    } else if (meaning == "gpu_site_t") {
      auto site = names_.sites.find(number);
      value->kind = Value::Kind::site;
      value->text = site != names_.sites.end() ? site->second.where : "site#" + std::to_string(number);
    } else if (meaning == "gpu_addr_t") {
      value->kind = Value::Kind::address;
    } else if (type.is_bool) {
      value->kind = Value::Kind::boolean;
    } else if (type.is_signed) {
      value->kind = Value::Kind::signed_number;
    }
  }

  static void enumerator(const map::Btf::Type &type, std::span<const uint8_t> bytes, Value *value) {
    value->number = read_number(bytes, type.is_signed);
    value->kind = type.is_signed ? Value::Kind::signed_number : Value::Kind::unsigned_number;
    for (const auto &member : type.members) {
      if (static_cast<uint64_t>(member.value) != value->number) continue;
      value->kind = Value::Kind::text, value->text = member.name;
      return;
    }
  }

  void array(const map::Btf::Type &type, std::span<const uint8_t> bytes, int depth, Value *value) {
    const map::Btf::Type &element = btf_.type(btf_.resolve(type.referred));
    if (element.is_char) {
      value->kind = Value::Kind::text;
      value->text.assign(bytes.begin(), std::find(bytes.begin(), bytes.end(), 0));
      return;
    }
    value->kind = Value::Kind::list;
    size_t size = bytes.size() / std::max(type.count, 1u);
    for (uint32_t i = 0; i < type.count && nodes_ < kMaxNodes; i++)
      value->fields.push_back(
          {"", build(type.referred, bytes.subspan(i * size, size), value->unit, depth + 1)});
  }

  void record(const map::Btf::Type &type, std::span<const uint8_t> bytes, const std::string &unit, int depth,
              Value *value) {
    value->kind = Value::Kind::record;
    value->unit.clear();
    for (const auto &member : type.members) {
      if (member.name.empty() && member.bit_size == 0 && nodes_ < kMaxNodes && is_record(member.type)) {
        // An anonymous struct's members are its parent's, as in C.
        Value inner = build(member.type, tail(bytes, member.bit_offset / 8), member.unit, depth + 1);
        for (Field &field : inner.fields) value->fields.push_back(std::move(field));
        continue;
      }
      if (is_padding(member.name) || nodes_ >= kMaxNodes) continue;
      const std::string &its_unit = member.unit.empty() ? unit : member.unit;
      value->fields.push_back({member.name, this->member(member, bytes, its_unit, depth)});
    }
  }

  Value member(const map::Btf::Member &member, std::span<const uint8_t> bytes, const std::string &unit,
               int depth) {
    if (member.bit_size == 0) return build(member.type, tail(bytes, member.bit_offset / 8), unit, depth + 1);
    Value value;
    value.unit = unit;
    nodes_++;
    for (uint64_t i = 0; i < std::min(member.bit_size, 64u); i++) {
      uint64_t bit = member.bit_offset + i;
      if (bit / 8 < bytes.size())
        value.number |= uint64_t{bytes[bit / 8]} >> bit % 8 & 1 ? uint64_t{1} << i : 0;
    }
    const map::Btf::Type &type = btf_.type(btf_.resolve(member.type));
    if (type.is_signed && member.bit_size < 64 && value.number >> (member.bit_size - 1) & 1)
      value.number |= ~uint64_t{0} << member.bit_size;
    if (type.is_signed) value.kind = Value::Kind::signed_number;
    return value;
  }

  static void histogram(std::span<const uint8_t> bytes, Value *value) {
    value->kind = Value::Kind::histogram;
    value->slots.resize(bytes.size() / 8);
    std::memcpy(value->slots.data(), bytes.data(), value->slots.size() * 8);
  }

  bool is_record(uint32_t id) const {
    uint32_t kind = btf_.type(btf_.resolve(id)).kind;
    return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION;
  }

  static bool is_padding(const std::string &name) {
    return name.empty() || name == "_pad" || name == "pad" || name == "__pad" || name == "padding";
  }

  static std::span<const uint8_t> tail(std::span<const uint8_t> bytes, uint64_t offset) {
    return bytes.subspan(std::min<uint64_t>(offset, bytes.size()));
  }

  const map::Snapshot &names_;
  const map::Btf &btf_;
  int nodes_ = 0;
};

std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
      continue;
    }
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", byte);
    out += code;
  }
  return out;
}

std::string join(const Value &value) {
  std::string out;
  for (const Field &field : value.fields) {
    if (!out.empty()) out += ", ";
    out += (field.name.empty() ? "" : field.name + "=") + inline_text(field.value);
  }
  return out;
}

}  // namespace

Value make_value(const map::Snapshot &names, const map::Btf &btf, uint32_t type_id,
                 std::span<const uint8_t> bytes, const std::string &unit) {
  return Builder(names, btf).build(type_id, bytes, unit, 0);
}

std::string key_name(const map::Btf &btf, uint32_t type_id, const std::string &fallback) {
  std::string meaning = btf.typedef_among(type_id, kMeanings);
  if (meaning == "gpu_kernel_t") return "kernel";
  if (meaning == "gpu_site_t") return "site";
  if (meaning == "gpu_addr_t") return "address";
  if (meaning == "gpu_sm_t") return "sm";
  return fallback;
}

std::string with_unit(const std::string &name, const std::string &unit) {
  if (unit.empty() || name == unit || name.ends_with("_" + unit)) return name;
  return name + "_" + unit;
}

std::string inline_text(const Value &value) {
  switch (value.kind) {
    case Value::Kind::unsigned_number:
      return std::to_string(value.number);
    case Value::Kind::signed_number:
      return std::to_string(static_cast<int64_t>(value.number));
    case Value::Kind::boolean:
      return value.number != 0 ? "true" : "false";
    case Value::Kind::text:
    case Value::Kind::kernel:
    case Value::Kind::site:
      return escaped(value.text);
    case Value::Kind::address:
      return hex(value.number);
    case Value::Kind::histogram: {
      uint64_t count = 0;
      for (uint64_t slot : value.slots) count += slot;
      return "histogram of " + std::to_string(count);
    }
    case Value::Kind::record:
      return "{" + join(value) + "}";
    case Value::Kind::list:
      return "[" + join(value) + "]";
  }
  return "";
}

}  // namespace egpu::print
