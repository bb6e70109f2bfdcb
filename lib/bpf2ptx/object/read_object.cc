// Opens an object with libbpf in gen_loader mode and collects what the other parts need.
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>

#include "lib/bpf2ptx/object/btf_check.h"
#include "lib/bpf2ptx/object/constants.h"
#include "lib/bpf2ptx/object/elf_file.h"
#include "lib/bpf2ptx/object/lines.h"
#include "lib/bpf2ptx/object/maps.h"
#include "lib/bpf2ptx/object/object.h"

namespace egpu::bpf {
namespace {

constexpr int32_t kTracePrintk = 6, kTraceVprintk = 177;

// libbpf's last warning of this thread; libbpf reports causes only through its log.
thread_local std::string last_message;

int keep_message(libbpf_print_level level, const char *format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char text[512];
  std::vsnprintf(text, sizeof text, format, arguments);
  last_message = text;
  if (last_message.starts_with("libbpf: ")) last_message.erase(0, 8);
  while (last_message.ends_with('\n')) last_message.pop_back();
  return 0;
}

Error libbpf_error(const std::string &step, int code) {
  std::string cause = last_message.empty() ? std::strerror(code < 0 ? -code : code) : last_message;
  return {step + ": " + cause};
}

struct CloseObject {
  void operator()(bpf_object *object) const { bpf_object__close(object); }
};
using ObjectHandle = std::unique_ptr<bpf_object, CloseObject>;

// Fills Insn::source and Program::lines: each instruction gets the last record before it.
void attach_lines(const std::map<std::string, std::vector<LineRecord>> &records, const ElfFile &file,
                  const std::vector<FunctionOrigin> &functions, Program *program) {
  for (const FunctionOrigin &function : functions) {
    auto found = records.find(file.sections()[function.section].name);
    if (found == records.end()) continue;
    const std::vector<LineRecord> &list = found->second;
    auto after = [](uint64_t offset, const LineRecord &record) { return offset < record.offset; };
    const LineRecord *last = nullptr;
    for (Insn &insn : program->insns) {
      int slot = static_cast<int>(insn.slot) - function.start_slot;
      if (slot < 0 || slot >= function.slots) continue;
      uint64_t offset = function.offset + static_cast<uint64_t>(slot) * sizeof(RawInsn);
      auto next = std::upper_bound(list.begin(), list.end(), offset, after);
      if (next == list.begin() || (next - 1)->offset < function.offset) continue;
      if (&*(next - 1) != last) {
        last = &*(next - 1);
        program->lines.push_back(last->line);
      }
      insn.source = static_cast<int>(program->lines.size()) - 1;
    }
  }
}

Result<Program> read_program(const bpf_program *raw, const ElfFile &file,
                             const std::map<std::string, std::vector<LineRecord>> &records, Event event) {
  Program program;
  program.name = bpf_program__name(raw);
  program.event = std::move(event);
  std::vector<RawInsn> code(bpf_program__insn_cnt(raw));
  std::memcpy(code.data(), bpf_program__insns(raw), code.size() * sizeof(RawInsn));
  TRY(auto functions, locate(file, program.event.section, program.name, code));
  TRY(auto insns, decode(code));
  program.insns = std::move(insns);
  for (const FunctionOrigin &function : functions) {
    auto at = std::find_if(program.insns.begin(), program.insns.end(), [&](const Insn &insn) {
      return static_cast<int>(insn.slot) == function.start_slot;
    });
    program.subprogram_starts.push_back(static_cast<int>(at - program.insns.begin()));
    program.subprogram_names.push_back(function.name);
  }
  attach_lines(records, file, functions, &program);
  return program;
}

bool prints(const Program &program) {
  return std::any_of(program.insns.begin(), program.insns.end(), [](const Insn &insn) {
    const auto *call = std::get_if<CallHelper>(&insn.op);
    return call && (call->id == kTracePrintk || call->id == kTraceVprintk);
  });
}

struct Section {
  Event event;
  std::string note;
};

// The events of all programs, before anything is linked: a host event or a misspelt section
// should be named as such, not fail inside libbpf.
Result<std::vector<Section>> read_sections(bpf_object *object) {
  std::vector<Section> sections;
  bpf_program *program = nullptr;
  bpf_object__for_each_program(program, object) {
    Section section;
    TRY(Event event, parse_section(bpf_program__section_name(program), &section.note));
    section.event = std::move(event);
    sections.push_back(std::move(section));
    // A type that libbpf loads without asking the kernel for an attach point.
    bpf_program__set_type(program, BPF_PROG_TYPE_RAW_TRACEPOINT);
    bpf_program__set_expected_attach_type(program, static_cast<bpf_attach_type>(0));
  }
  return sections;
}

Result<Object> read(const std::string &name, const std::vector<uint8_t> &elf,
                    const std::map<std::string, std::string> &constants) {
  TRY(ElfFile file, ElfFile::parse(elf));
  uint32_t types_section = file.find(".BTF");
  if (types_section == 0) return Error{"no BTF type information; compile with -g"};
  if (auto fine = check_btf(file.sections()[types_section]); !fine) return std::move(fine).error();

  libbpf_set_print(keep_message);
  last_message.clear();
  LIBBPF_OPTS(bpf_object_open_opts, open_options, .object_name = "o");
  ObjectHandle object(bpf_object__open_mem(elf.data(), elf.size(), &open_options));
  if (!object) return libbpf_error("cannot be opened", errno);
  const btf *types = bpf_object__btf(object.get());
  if (!types) return Error{"no BTF type information; compile with -g"};

  TRY(auto sections, read_sections(object.get()));
  if (sections.empty()) return Error{"no program; a probe is a function with SEC(\"gpu/EVENT/KERNEL\")"};

  Object result;
  result.name = name;
  TRY(auto maps, read_maps(object.get()));
  result.maps = std::move(maps);
  if (auto done = apply_constants(constants, file, types, &result.maps); !done)
    return std::move(done).error();
  uint32_t btf_bytes = 0;
  const auto *btf_data = static_cast<const uint8_t *>(btf__raw_data(types, &btf_bytes));
  if (!btf_data) return Error{"BTF type information cannot be read"};
  result.btf.assign(btf_data, btf_data + btf_bytes);
  TRY(auto records, read_lines(file, types));

  // Without this the load below would go to this machine's kernel (docs/facts.md, 5).
  gen_loader_opts loader{};
  loader.sz = sizeof loader;
  if (int code = bpf_object__gen_loader(object.get(), &loader); code != 0)
    return libbpf_error("cannot be linked", code);
  if (int code = bpf_object__load(object.get()); code != 0) return libbpf_error("cannot be linked", code);

  size_t index = 0;
  bpf_program *raw = nullptr;
  bpf_object__for_each_program(raw, object.get()) {
    std::string program_name = bpf_program__name(raw);
    auto program = read_program(raw, file, records, std::move(sections[index].event));
    if (!program) return std::move(program).error().in("program '" + program_name + "'");
    if (!sections[index].note.empty()) program->notes.push_back(std::move(sections[index].note));
    ++index;
    result.programs.push_back(*std::move(program));
  }
  if (std::any_of(result.programs.begin(), result.programs.end(), prints))
    result.maps.push_back(printk_map());
  return result;
}

}  // namespace

Result<Object> read_object(const std::string &name, const std::vector<uint8_t> &elf,
                           const std::map<std::string, std::string> &constants) {
  auto object = read(name, elf, constants);
  if (!object) return std::move(object).error().in(name);
  return object;
}

}  // namespace egpu::bpf
