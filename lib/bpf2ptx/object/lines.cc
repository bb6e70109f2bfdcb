#include "lib/bpf2ptx/object/lines.h"

#include <bpf/btf.h>
#include <elf.h>

#include <algorithm>
#include <cstring>

namespace egpu::bpf {
namespace {

constexpr uint8_t kCodeCall = 0x85, kCodeLoadImm64 = 0x18;
constexpr int kPseudoCall = 1, kPseudoFunction = 4;  // src_reg of call and of ld_imm64

int source_register(const RawInsn &insn) { return insn.regs >> 4; }

bool refers_to_function(const RawInsn &insn) {
  return (insn.code == kCodeCall && source_register(insn) == kPseudoCall) ||
         (insn.code == kCodeLoadImm64 && source_register(insn) == kPseudoFunction);
}

const ElfSymbol *function_at(const ElfFile &file, uint32_t section, uint64_t offset) {
  for (const ElfSymbol &symbol : file.symbols())
    if (symbol.type == STT_FUNC && symbol.section == section && symbol.value == offset) return &symbol;
  return nullptr;
}

// Walks the calls of a function in both forms; each target found is walked in turn.
class Locator {
 public:
  Locator(const ElfFile &file, const std::vector<RawInsn> &linked) : file_(file), linked_(linked) {}

  Result<Ok> add(const ElfSymbol &symbol, int start_slot) {
    for (const FunctionOrigin &known : found_)
      if (known.start_slot == start_slot) return Ok{};
    FunctionOrigin origin{symbol.name, start_slot, static_cast<int>(symbol.size_bytes / sizeof(RawInsn)),
                          symbol.section, symbol.value};
    if (start_slot < 0 || origin.slots <= 0 ||
        static_cast<size_t>(start_slot + origin.slots) > linked_.size())
      return Error{"function '" + symbol.name + "' does not fit the linked code"};
    found_.push_back(origin);
    for (int i = 0; i < origin.slots; ++i) {
      int at = start_slot + i;
      const RawInsn &insn = linked_[static_cast<size_t>(at)];
      if (refers_to_function(insn)) {
        TRY(const ElfSymbol *target, target_of(origin, i));
        if (auto done = add(*target, at + 1 + insn.imm); !done) return std::move(done).error();
      }
      if (insn.code == kCodeLoadImm64) ++i;
    }
    return Ok{};
  }

  std::vector<FunctionOrigin> take() {
    std::sort(found_.begin(), found_.end(), [](auto &a, auto &b) { return a.start_slot < b.start_slot; });
    return std::move(found_);
  }

 private:
  // The function that the original instruction `slot` of `origin` refers to: by a relocation
  // (against its symbol, or against its section with the distance in imm), else relatively.
  Result<const ElfSymbol *> target_of(const FunctionOrigin &origin, int slot) const {
    const ElfSection &section = file_.sections()[origin.section];
    uint64_t offset = origin.offset + static_cast<uint64_t>(slot) * sizeof(RawInsn);
    RawInsn insn;
    std::memcpy(&insn, section.data + offset, sizeof insn);
    int64_t scale = insn.code == kCodeCall ? int64_t{sizeof(RawInsn)} : 1;
    int64_t bias = insn.code == kCodeCall ? 1 : 0;
    uint32_t target_section = origin.section;
    int64_t target = static_cast<int64_t>(offset) + (insn.imm + bias) * int64_t{sizeof(RawInsn)};
    for (const ElfRelocation &relocation : file_.relocations(origin.section)) {
      if (relocation.offset != offset) continue;
      const ElfSymbol &symbol = file_.symbols()[relocation.symbol];
      target_section = symbol.section;
      target = static_cast<int64_t>(symbol.value);
      if (symbol.type == STT_SECTION) target += (insn.imm + bias) * scale;
    }
    const ElfSymbol *found = function_at(file_, target_section, static_cast<uint64_t>(target));
    if (!found) return Error{"function '" + origin.name + "': a call has no target in the object"};
    return found;
  }

  const ElfFile &file_;
  const std::vector<RawInsn> &linked_;
  std::vector<FunctionOrigin> found_;
};

struct ExtHeader {  // struct btf_ext_header
  uint16_t magic;
  uint8_t version, flags;
  uint32_t hdr_len, func_info_off, func_info_len, line_info_off, line_info_len;
};
struct ExtSection {  // struct btf_ext_info_sec, without its data
  uint32_t sec_name_off, num_info;
};
struct ExtLine {  // struct bpf_line_info
  uint32_t insn_off, file_name_off, line_off, line_col;
};

std::string string_of(const btf *types, uint32_t offset) {
  const char *text = btf__str_by_offset(types, offset);
  return text ? text : "";
}

// egpu-cc compiles with "." as the compilation directory.
std::string file_name(const btf *types, uint32_t offset) {
  std::string name = string_of(types, offset);
  return name.starts_with("./") ? name.substr(2) : name;
}

}  // namespace

Result<std::vector<FunctionOrigin>> locate(const ElfFile &file, const std::string &section,
                                           const std::string &program, const std::vector<RawInsn> &linked) {
  for (const ElfSymbol &symbol : file.symbols()) {
    if (symbol.type != STT_FUNC || symbol.name != program || file.sections()[symbol.section].name != section)
      continue;
    if (!file.sections()[symbol.section].data) continue;
    Locator locator(file, linked);
    if (auto done = locator.add(symbol, 0); !done) return std::move(done).error();
    return locator.take();
  }
  return Error{"program '" + program + "' has no symbol"};
}

Result<std::map<std::string, std::vector<LineRecord>>> read_lines(const ElfFile &file, const btf *types) {
  std::map<std::string, std::vector<LineRecord>> result;
  uint32_t index = file.find(".BTF.ext");
  if (index == 0) return result;
  const ElfSection &section = file.sections()[index];
  Error bad{".BTF.ext is malformed"};
  ExtHeader header;
  if (!section.data || section.size_bytes < sizeof header) return bad;
  std::memcpy(&header, section.data, sizeof header);
  if (header.magic != 0xeb9f || header.version != 1) return bad;
  uint64_t begin = uint64_t{header.hdr_len} + header.line_info_off, end = begin + header.line_info_len;
  if (header.line_info_len == 0) return result;
  if (end > section.size_bytes || header.line_info_len < 4) return bad;
  uint32_t record_bytes;
  std::memcpy(&record_bytes, section.data + begin, 4);
  if (record_bytes < sizeof(ExtLine)) return bad;
  for (uint64_t at = begin + 4; at < end;) {
    ExtSection head;
    if (end - at < sizeof head) return bad;
    std::memcpy(&head, section.data + at, sizeof head);
    at += sizeof head;
    if (head.num_info > (end - at) / record_bytes) return bad;
    std::vector<LineRecord> &records = result[string_of(types, head.sec_name_off)];
    for (uint32_t i = 0; i < head.num_info; ++i, at += record_bytes) {
      ExtLine raw;
      std::memcpy(&raw, section.data + at, sizeof raw);
      records.push_back({raw.insn_off,
                         {file_name(types, raw.file_name_off), string_of(types, raw.line_off),
                          raw.line_col >> 10, raw.line_col & 0x3ff}});
    }
    std::stable_sort(records.begin(), records.end(), [](auto &a, auto &b) { return a.offset < b.offset; });
  }
  return result;
}

}  // namespace egpu::bpf
