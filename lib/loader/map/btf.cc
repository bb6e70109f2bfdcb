#include "lib/loader/map/btf.h"

#include <linux/btf.h>

#include <cstring>
#include <tuple>

namespace egpu::map {
namespace {

constexpr int kMaxDepth = 32;  // of nested or chained types; C programs stay far below
constexpr size_t kMaxNamesBytes = 64 << 20;  // long names that are shared by many types, copied

// Reads the type section record by record.
class Parser {
 public:
  Parser(const std::vector<uint8_t> &bytes, const btf_header &header)
      : types_(bytes.data() + header.hdr_len + header.type_off),
        type_bytes_(header.type_len),
        strings_(reinterpret_cast<const char *>(bytes.data()) + header.hdr_len + header.str_off),
        string_bytes_(header.str_len) {}

  bool done() const { return at_ == type_bytes_; }

  template <class T>
  Result<T> next() {
    T value;
    if (sizeof value > type_bytes_ - at_) return Error{"BTF: the last type is cut off"};
    std::memcpy(&value, types_ + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  Result<std::string> name(uint32_t offset) {
    if (offset >= string_bytes_)
      return Error{"BTF: a name at " + std::to_string(offset) + " is not in the strings"};
    std::string name(strings_ + offset);  // the section ends with NUL, see parse()
    name_bytes_ += name.size();
    if (name_bytes_ > kMaxNamesBytes) return Error{"BTF: its names add up to more than any program's"};
    return name;
  }

 private:
  const uint8_t *types_;
  size_t type_bytes_, at_ = 0;
  const char *strings_;
  size_t string_bytes_, name_bytes_ = 0;
};

struct Tag {  // a BTF_KIND_DECL_TAG
  std::string text;
  uint32_t type;
  int component;
};

Result<Ok> read_members(Parser *parser, uint32_t count, bool has_bit_fields, Btf::Type *type) {
  for (uint32_t i = 0; i < count; i++) {
    TRY(auto raw, parser->next<btf_member>());
    Btf::Member member;
    TRY(member.name, parser->name(raw.name_off));
    member.type = raw.type;
    member.bit_offset = has_bit_fields ? BTF_MEMBER_BIT_OFFSET(raw.offset) : raw.offset;
    member.bit_size = has_bit_fields ? BTF_MEMBER_BITFIELD_SIZE(raw.offset) : 0;
    type->members.push_back(std::move(member));
  }
  return Ok{};
}

Result<Ok> read_enumerators(Parser *parser, uint32_t count, bool wide, Btf::Type *type) {
  for (uint32_t i = 0; i < count; i++) {
    Btf::Member member;
    if (wide) {
      TRY(auto raw, parser->next<btf_enum64>());
      TRY(member.name, parser->name(raw.name_off));
      member.value = static_cast<int64_t>(uint64_t{raw.val_hi32} << 32 | raw.val_lo32);
    } else {
      TRY(auto raw, parser->next<btf_enum>());
      TRY(member.name, parser->name(raw.name_off));
      member.value = type->is_signed ? raw.val : static_cast<int64_t>(static_cast<uint32_t>(raw.val));
    }
    type->members.push_back(std::move(member));
  }
  return Ok{};
}

Result<Ok> read_section_variables(Parser *parser, uint32_t count, Btf::Type *type) {
  for (uint32_t i = 0; i < count; i++) {
    TRY(auto raw, parser->next<btf_var_secinfo>());
    Btf::Member member;  // its name is the variable's; filled in when all types are known
    member.type = raw.type, member.bit_offset = uint64_t{raw.offset} * 8;
    type->members.push_back(std::move(member));
  }
  return Ok{};
}

Result<Ok> read_int(Parser *parser, Btf::Type *type) {
  TRY(auto info, parser->next<uint32_t>());
  if (type->size_bytes == 0 || type->size_bytes > 16) return Error{"BTF: integer of impossible size"};
  type->is_signed = BTF_INT_ENCODING(info) & BTF_INT_SIGNED;
  type->is_bool = BTF_INT_ENCODING(info) & BTF_INT_BOOL;
  type->is_char = (BTF_INT_ENCODING(info) & BTF_INT_CHAR) ||
                  (type->size_bytes == 1 && type->name.find("char") != std::string::npos);
  return Ok{};
}

Result<Ok> read_array(Parser *parser, Btf::Type *type) {
  TRY(auto array, parser->next<btf_array>());
  type->referred = array.type, type->count = array.nelems;
  return Ok{};
}

Result<Ok> read_tag(Parser *parser, const btf_type &raw, const Btf::Type &type, std::vector<Tag> *tags) {
  TRY(auto tag, parser->next<btf_decl_tag>());
  tags->push_back({type.name, raw.type, tag.component_idx});
  return Ok{};
}

// Reads over records that hold nothing we need.
template <class T>
Result<Ok> skip(Parser *parser, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    TRY(std::ignore, parser->next<T>());
  }
  return Ok{};
}

// What follows the common record, by kind.
Result<Ok> read_rest(Parser *parser, const btf_type &raw, Btf::Type *type, std::vector<Tag> *tags) {
  const uint32_t count = BTF_INFO_VLEN(raw.info);
  const bool flag = BTF_INFO_KFLAG(raw.info);
  switch (type->kind) {
    case BTF_KIND_INT:
      type->size_bytes = raw.size;
      return read_int(parser, type);
    case BTF_KIND_FLOAT:
      type->size_bytes = raw.size;
      return Ok{};
    case BTF_KIND_ARRAY:
      return read_array(parser, type);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      type->size_bytes = raw.size;
      return read_members(parser, count, flag, type);
    case BTF_KIND_ENUM:
    case BTF_KIND_ENUM64:
      type->size_bytes = raw.size, type->is_signed = flag;
      return read_enumerators(parser, count, type->kind == BTF_KIND_ENUM64, type);
    case BTF_KIND_FUNC_PROTO:
      return skip<btf_param>(parser, count);
    case BTF_KIND_VAR:
      type->referred = raw.type;
      return skip<btf_var>(parser, 1);
    case BTF_KIND_DATASEC:
      type->size_bytes = raw.size;
      return read_section_variables(parser, count, type);
    case BTF_KIND_DECL_TAG:
      return read_tag(parser, raw, *type, tags);
    case BTF_KIND_PTR:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_TYPE_TAG:
      type->referred = raw.type;
      return Ok{};
    case BTF_KIND_FWD:
    case BTF_KIND_FUNC:
      return Ok{};
    default:
      return Error{"BTF: unknown kind of type " + std::to_string(type->kind)};
  }
}

Result<Btf::Type> read_type(Parser *parser, std::vector<Tag> *tags) {
  TRY(auto raw, parser->next<btf_type>());
  Btf::Type type;
  type.kind = BTF_INFO_KIND(raw.info);
  TRY(type.name, parser->name(raw.name_off));
  TRY(std::ignore, read_rest(parser, raw, &type, tags));
  return type;
}

bool is_transparent(uint32_t kind) {
  return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_VOLATILE || kind == BTF_KIND_CONST ||
         kind == BTF_KIND_RESTRICT || kind == BTF_KIND_TYPE_TAG || kind == BTF_KIND_VAR;
}

// "unit:ns" on a member or a variable becomes its unit.
void apply_tags(const std::vector<Tag> &tags, std::vector<Btf::Type> *types) {
  constexpr std::string_view kUnit = "unit:";
  for (const Tag &tag : tags) {
    if (!tag.text.starts_with(kUnit) || tag.type >= types->size()) continue;
    Btf::Type &type = (*types)[tag.type];
    std::string unit = tag.text.substr(kUnit.size());
    if (tag.component < 0)
      type.unit = unit;
    else if (static_cast<size_t>(tag.component) < type.members.size())
      type.members[static_cast<size_t>(tag.component)].unit = unit;
  }
  for (Btf::Type &section : *types) {
    if (section.kind != BTF_KIND_DATASEC) continue;
    for (Btf::Member &member : section.members) {
      if (member.type >= types->size()) continue;
      member.name = (*types)[member.type].name, member.unit = (*types)[member.type].unit;
    }
  }
}

}  // namespace

Result<Btf> Btf::parse(const std::vector<uint8_t> &bytes) {
  btf_header header{};
  if (bytes.size() < sizeof header) return Error{"BTF: too short"};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != BTF_MAGIC) return Error{"BTF: wrong magic number"};
  if (header.hdr_len < sizeof header || header.hdr_len > bytes.size())
    return Error{"BTF: wrong header length"};
  uint64_t rest = bytes.size() - header.hdr_len;
  if (header.type_off > rest || header.type_len > rest - header.type_off)
    return Error{"BTF: types are cut off"};
  if (header.str_off > rest || header.str_len > rest - header.str_off)
    return Error{"BTF: strings are cut off"};
  if (header.str_len == 0 || bytes[header.hdr_len + uint64_t{header.str_off} + header.str_len - 1] != 0)
    return Error{"BTF: strings do not end"};

  Btf btf;
  btf.types_.emplace_back();  // id 0 is void
  std::vector<Tag> tags;
  for (Parser parser(bytes, header); !parser.done();) {
    TRY(auto type, read_type(&parser, &tags));
    btf.types_.push_back(std::move(type));
  }
  apply_tags(tags, &btf.types_);
  return btf;
}

const Btf::Type &Btf::type(uint32_t id) const {
  static const Type kVoid;
  return id < types_.size() ? types_[id] : kVoid;
}

uint32_t Btf::resolve(uint32_t id) const {
  for (int depth = 0; depth < kMaxDepth; depth++) {
    const Type &t = type(id);
    if (!is_transparent(t.kind)) return id < types_.size() ? id : 0;
    id = t.referred;
  }
  return 0;
}

uint64_t Btf::size_of(uint32_t id) const {
  uint64_t elements = 1;
  for (int depth = 0; depth < kMaxDepth; depth++) {
    const Type &t = type(resolve(id));
    if (t.kind == BTF_KIND_PTR) return elements * 8;
    if (t.kind != BTF_KIND_ARRAY) {
      uint64_t bytes = 0;
      return __builtin_mul_overflow(elements, t.size_bytes, &bytes) ? 0 : bytes;
    }
    if (__builtin_mul_overflow(elements, uint64_t{t.count}, &elements) || elements > UINT32_MAX) return 0;
    id = t.referred;
  }
  return 0;
}

std::string Btf::typedef_among(uint32_t id, const std::vector<std::string> &names) const {
  for (int depth = 0; depth < kMaxDepth && is_transparent(type(id).kind); depth++) {
    const Type &t = type(id);
    if (t.kind == BTF_KIND_TYPEDEF)
      for (const std::string &name : names)
        if (t.name == name) return name;
    id = t.referred;
  }
  return "";
}

std::string Btf::c_name(uint32_t id) const {
  std::string suffix;
  for (int depth = 0; depth < kMaxDepth; depth++) {
    const Type &t = type(id);
    switch (t.kind) {
      case 0:
        return "void" + suffix;
      case BTF_KIND_STRUCT:
        return "struct" + (t.name.empty() ? "" : " " + t.name) + suffix;
      case BTF_KIND_UNION:
        return "union" + (t.name.empty() ? "" : " " + t.name) + suffix;
      case BTF_KIND_ENUM:
      case BTF_KIND_ENUM64:
        return "enum" + (t.name.empty() ? "" : " " + t.name) + suffix;
      case BTF_KIND_ARRAY:
        suffix += (suffix.empty() ? " [" : "[") + std::to_string(t.count) + "]";
        id = t.referred;
        break;
      case BTF_KIND_PTR:
        suffix = " *" + suffix;
        id = t.referred;
        break;
      case BTF_KIND_VOLATILE:
      case BTF_KIND_CONST:
      case BTF_KIND_RESTRICT:
      case BTF_KIND_TYPE_TAG:
      case BTF_KIND_VAR:
        id = t.referred;
        break;
      default:
        return t.name + suffix;
    }
  }
  return "?";
}

}  // namespace egpu::map
