#include "lib/bpf2ptx/object/btf_check.h"

#include <linux/btf.h>

#include <cstring>

namespace egpu::bpf {
namespace {

constexpr uint32_t kMaxTypes = 1u << 20;

struct Record {
  btf_type type;
  uint64_t extra;  // offset in the section of what follows the btf_type
  uint64_t extra_bytes;
};

uint32_t kind_of(const btf_type &t) { return BTF_INFO_KIND(t.info); }

// Bytes that follow a btf_type of this kind; false: unknown kind.
bool extra_bytes(const btf_type &t, uint64_t *bytes) {
  uint64_t count = BTF_INFO_VLEN(t.info);
  switch (kind_of(t)) {
    case BTF_KIND_INT:
      *bytes = 4;
      return true;
    case BTF_KIND_ARRAY:
      *bytes = sizeof(btf_array);
      return true;
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      *bytes = count * sizeof(btf_member);
      return true;
    case BTF_KIND_ENUM:
      *bytes = count * sizeof(btf_enum);
      return true;
    case BTF_KIND_ENUM64:
      *bytes = count * sizeof(btf_enum64);
      return true;
    case BTF_KIND_FUNC_PROTO:
      *bytes = count * sizeof(btf_param);
      return true;
    case BTF_KIND_DATASEC:
      *bytes = count * sizeof(btf_var_secinfo);
      return true;
    case BTF_KIND_VAR:
      *bytes = sizeof(btf_var);
      return true;
    case BTF_KIND_DECL_TAG:
      *bytes = sizeof(btf_decl_tag);
      return true;
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_FLOAT:
    case BTF_KIND_TYPE_TAG:
      *bytes = 0;
      return true;
    default:
      return false;
  }
}

bool refers(uint32_t kind) {
  switch (kind) {
    case BTF_KIND_PTR:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case BTF_KIND_FUNC_PROTO:
    case BTF_KIND_VAR:
    case BTF_KIND_DECL_TAG:
    case BTF_KIND_TYPE_TAG:
      return true;
    default:
      return false;
  }
}

class Checker {
 public:
  explicit Checker(const ElfSection &section) : data_(section.data), size_(section.size_bytes) {}

  Result<Ok> run() {
    if (!data_ || size_ < sizeof header_) return bad("truncated header");
    std::memcpy(&header_, data_, sizeof header_);
    if (header_.magic != BTF_MAGIC || header_.version != BTF_VERSION) return bad("not BTF");
    uint64_t types = uint64_t{header_.hdr_len} + header_.type_off, types_end = types + header_.type_len;
    strings_ = uint64_t{header_.hdr_len} + header_.str_off;
    if (header_.hdr_len < sizeof header_ || types_end > size_ || strings_ + header_.str_len > size_)
      return bad("truncated");
    if (header_.type_off % 4 != 0 || header_.hdr_len % 4 != 0) return bad("misaligned types");
    if (header_.str_len == 0 || data_[strings_] != 0 || data_[strings_ + header_.str_len - 1] != 0)
      return bad("string section");
    records_.push_back({});
    for (uint64_t at = types; at < types_end;) {
      Record record;
      if (types_end - at < sizeof record.type) return bad("truncated type");
      std::memcpy(&record.type, data_ + at, sizeof record.type);
      record.extra = at + sizeof record.type;
      if (!extra_bytes(record.type, &record.extra_bytes)) return bad("unknown kind of type");
      if (record.extra_bytes > types_end - record.extra) return bad("truncated type");
      if (records_.size() > kMaxTypes) return bad("too many types");
      records_.push_back(record);
      at = record.extra + record.extra_bytes;
    }
    for (size_t id = 1; id < records_.size(); ++id)
      if (!references_hold(records_[id]))
        return bad("type " + std::to_string(id) + " refers to a type or string that does not exist");
    for (size_t id = 1; id < records_.size(); ++id)
      if (!chain_ends(static_cast<uint32_t>(id)))
        return bad("type " + std::to_string(id) + " contains itself");
    return Ok{};
  }

 private:
  static Error bad(const std::string &what) { return {"malformed BTF: " + what}; }
  bool is_type(uint32_t id) const { return id < records_.size(); }
  bool is_string(uint32_t offset) const { return offset < header_.str_len; }

  template <class T>
  T extra(const Record &record, uint64_t index) const {
    T value;
    std::memcpy(&value, data_ + record.extra + index * sizeof(T), sizeof value);
    return value;
  }

  bool references_hold(const Record &record) const {
    uint32_t kind = kind_of(record.type), count = BTF_INFO_VLEN(record.type.info);
    if (!is_string(record.type.name_off)) return false;
    if (refers(kind) && !is_type(record.type.type)) return false;
    if (kind == BTF_KIND_ARRAY) {
      auto array = extra<btf_array>(record, 0);
      return is_type(array.type) && is_type(array.index_type);
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION) {
        auto member = extra<btf_member>(record, i);
        if (!is_type(member.type) || !is_string(member.name_off)) return false;
      } else if (kind == BTF_KIND_FUNC_PROTO) {
        auto parameter = extra<btf_param>(record, i);
        if (!is_type(parameter.type) || !is_string(parameter.name_off)) return false;
      } else if (kind == BTF_KIND_DATASEC) {
        auto row = extra<btf_var_secinfo>(record, i);
        // libbpf takes every row of a data section for a variable (or, in .ksyms, a function).
        if (!is_type(row.type)) return false;
        uint32_t target = kind_of(records_[row.type].type);
        if (target != BTF_KIND_VAR && target != BTF_KIND_FUNC) return false;
      } else if (kind == BTF_KIND_ENUM) {
        if (!is_string(extra<btf_enum>(record, i).name_off)) return false;
      } else if (kind == BTF_KIND_ENUM64) {
        if (!is_string(extra<btf_enum64>(record, i).name_off)) return false;
      }
    }
    return true;
  }

  // Follows typedefs, modifiers and array elements; pointers may close cycles.
  bool chain_ends(uint32_t id) const {
    for (size_t steps = 0; steps < 64; ++steps) {
      const Record &record = records_[id];
      switch (kind_of(record.type)) {
        case BTF_KIND_TYPEDEF:
        case BTF_KIND_VOLATILE:
        case BTF_KIND_CONST:
        case BTF_KIND_RESTRICT:
        case BTF_KIND_TYPE_TAG:
        case BTF_KIND_VAR:
          id = record.type.type;
          break;
        case BTF_KIND_ARRAY:
          id = extra<btf_array>(record, 0).type;
          break;
        default:
          return true;
      }
    }
    return false;
  }

  const uint8_t *data_;
  uint64_t size_;
  btf_header header_{};
  uint64_t strings_ = 0;
  std::vector<Record> records_;
};

}  // namespace

Result<Ok> check_btf(const ElfSection &section) { return Checker(section).run(); }

}  // namespace egpu::bpf
