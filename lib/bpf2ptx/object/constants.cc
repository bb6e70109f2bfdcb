#include "lib/bpf2ptx/object/constants.h"

#include <bpf/btf.h>
#include <elf.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "egpu/near_name.h"

namespace egpu::bpf {
namespace {

struct Variable {
  const btf_type *type = nullptr;  // of the VAR's type, modifiers kept
  bool is_const = false, is_volatile = false;
  std::string section;
};

// Every variable of the data sections by name.
std::map<std::string, Variable> read_variables(const btf *types) {
  std::map<std::string, Variable> variables;
  for (uint32_t id = 1; id < btf__type_cnt(types); ++id) {
    const btf_type *section = btf__type_by_id(types, id);
    if (!btf_is_datasec(section)) continue;
    std::string section_name = btf__name_by_offset(types, section->name_off);
    if (section_name == ".maps" || section_name == "license") continue;
    const btf_var_secinfo *row = btf_var_secinfos(section);
    for (int i = 0; i < btf_vlen(section); ++i) {
      const btf_type *var = btf__type_by_id(types, row[i].type);
      if (!var || !btf_is_var(var)) continue;
      Variable variable;
      variable.section = section_name;
      variable.type = btf__type_by_id(types, var->type);
      // 32: deeper chains are cycles.
      for (int depth = 0;
           depth < 32 && variable.type && (btf_is_mod(variable.type) || btf_is_typedef(variable.type));
           ++depth) {
        variable.is_const |= btf_is_const(variable.type);
        variable.is_volatile |= btf_is_volatile(variable.type);
        variable.type = btf__type_by_id(types, variable.type->type);
      }
      variables[btf__name_by_offset(types, var->name_off)] = variable;
    }
  }
  return variables;
}

struct IntegerKind {
  uint32_t bytes = 0;
  bool is_signed = false, is_bool = false;
};

bool integer_kind(const btf_type *type, IntegerKind *kind) {
  if (!type) return false;
  kind->bytes = type->size;
  if (btf_is_int(type)) {
    kind->is_signed = btf_int_encoding(type) & BTF_INT_SIGNED;
    kind->is_bool = btf_int_encoding(type) & BTF_INT_BOOL;
  } else if (btf_is_enum(type) || btf_is_enum64(type)) {
    kind->is_signed = btf_kflag(type);
  } else {
    return false;
  }
  return kind->bytes == 1 || kind->bytes == 2 || kind->bytes == 4 || kind->bytes == 8;
}

// An enumerator's value by name.
bool enumerator(const btf *types, const btf_type *type, const std::string &text, uint64_t *value) {
  for (int i = 0; i < btf_vlen(type); ++i) {
    if (btf_is_enum(type) && text == btf__name_by_offset(types, btf_enum(type)[i].name_off)) {
      *value = static_cast<uint64_t>(int64_t{btf_enum(type)[i].val});
      return true;
    }
    if (btf_is_enum64(type) && text == btf__name_by_offset(types, btf_enum64(type)[i].name_off)) {
      *value = btf_enum64_value(&btf_enum64(type)[i]);
      return true;
    }
  }
  return false;
}

Result<uint64_t> parse_value(const std::string &text, const IntegerKind &kind) {
  if (kind.is_bool && (text == "true" || text == "false")) return uint64_t{text == "true"};
  Error not_number{"not an integer: '" + text + "'"};
  bool negative = text.starts_with('-');
  std::string digits = negative ? text.substr(1) : text;
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return not_number;
  errno = 0;
  char *end = nullptr;
  uint64_t magnitude = std::strtoull(digits.c_str(), &end, 0);
  if (*end != 0) return not_number;
  unsigned bits = kind.bytes * 8;
  uint64_t top = uint64_t{1} << (bits - 1);
  uint64_t most = kind.is_bool ? 1 : kind.is_signed ? top - 1 : (top - 1) * 2 + 1;
  uint64_t least = kind.is_signed ? top : 0;  // magnitude of the smallest
  if (errno == ERANGE || magnitude > (negative ? least : most))
    return Error{"'" + text + "' does not fit: the variable holds " +
                 (least ? "-" + std::to_string(least) : "0") + " to " + std::to_string(most)};
  return negative ? ~magnitude + 1 : magnitude;
}

// Where a variable lies in its section. BTF has no usable offset for static variables.
const ElfSymbol *find_symbol(const ElfFile &file, const std::string &name, const std::string &section) {
  for (const ElfSymbol &symbol : file.symbols())
    if (symbol.type == STT_OBJECT && symbol.name == name && file.sections()[symbol.section].name == section)
      return &symbol;
  return nullptr;
}

Result<Ok> apply_one(const std::string &name, const std::string &text, const ElfFile &file, const btf *types,
                     std::vector<MapSpec> *maps) {
  std::map<std::string, Variable> variables = read_variables(types);
  auto found = variables.find(name);
  auto settable = [](const Variable &v) {
    return v.section.starts_with(".rodata") && v.is_const && v.is_volatile;
  };
  if (found == variables.end()) {
    std::vector<std::string> names;
    std::string listed;
    for (const auto &[known, variable] : variables)
      if (settable(variable)) names.push_back(known), listed += (listed.empty() ? "" : ", ") + known;
    std::string near = near_name(name, names);
    return Error{"no such variable" + (!near.empty() ? "; did you mean '" + near + "'?"
                                       : listed.empty()
                                           ? std::string("; the object has no `const volatile` variable")
                                           : "; the object has " + listed)};
  }
  const Variable &variable = found->second;
  if (!settable(variable))
    return Error{"cannot be set, because it is in " + variable.section +
                 "; declare it `const volatile` to make it a constant that -s sets"};
  IntegerKind kind;
  if (!integer_kind(variable.type, &kind))
    return Error{"cannot be set, because it is not an integer, bool or enum"};
  uint64_t value = 0;
  if (!(btf_is_any_enum(variable.type) && enumerator(types, variable.type, text, &value))) {
    TRY(uint64_t parsed, parse_value(text, kind));
    value = parsed;
  }
  const ElfSymbol *symbol = find_symbol(file, name, variable.section);
  for (MapSpec &map : *maps) {
    if (map.name != variable.section || !symbol) continue;
    if (symbol->value + kind.bytes > map.initial.size()) break;
    std::memcpy(map.initial.data() + symbol->value, &value, kind.bytes);  // both ends are little endian
    return Ok{};
  }
  return Error{"has no place in " + variable.section};
}

}  // namespace

Result<Ok> apply_constants(const std::map<std::string, std::string> &constants, const ElfFile &file,
                           const btf *types, std::vector<MapSpec> *maps) {
  for (const auto &[name, text] : constants)
    if (auto done = apply_one(name, text, file, types, maps); !done)
      return std::move(done).error().in("-s " + name);
  return Ok{};
}

}  // namespace egpu::bpf
