#include "tests/tools/job.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <set>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/interp/interp.h"
#include "lib/bpf2ptx/lower/unverified.h"
#include "lib/bpf2ptx/object/elf_file.h"

namespace egpu::bpf::run {
namespace {

constexpr uint32_t kCodeFlags = 0x4, kProgbits = 1;  // SHF_EXECINSTR, SHT_PROGBITS
constexpr uint64_t kMemoryAddress = 0x1'0000'0000;   // in the interpreter
constexpr uint64_t kMapAddress = 0x100'0000'0000, kMapDistance = 0x1'0000'0000;
constexpr uint32_t kStackBytes = 8 * Interpreter::kStackBytes;

constexpr int32_t kTimeHelper = 5;

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int add_map(Object *object, const char *name, size_t bytes) {
  MapSpec map;
  map.name = name;
  map.shape = {map::Type::array, 4, static_cast<uint32_t>(bytes), 1};
  object->maps.push_back(map);
  return static_cast<int>(object->maps.size()) - 1;
}

// Where a target or start at `index` of the program is once `before` instructions precede it
// and, if it is behind the main program, `between` more.
struct Moved {
  int main_end, before, between;
  int operator()(int index) const { return index + before + (index >= main_end ? between : 0); }
};

// The main program between code that sets r1 and r2 and code that stores r0: its exits go there.
void wrap(Program *program, int memory_map, size_t memory_bytes, int result_map) {
  std::vector<Insn> insns;
  auto emit = [&](Op op) { insns.push_back({std::move(op), 0, -1}); };
  auto length = static_cast<int32_t>(memory_bytes);
  if (memory_map >= 0)
    emit(LoadMapValue{Reg{1}, memory_map, 0});
  else
    emit(Mov{true, 0, Reg{1}, Imm{0}});
  emit(Mov{true, 0, Reg{2}, Imm{length}});
  const std::vector<Op> epilogue = {LoadMapValue{Reg{1}, result_map, 0}, Store{8, Reg{1}, 0, Operand{Reg{0}}},
                                    Mov{true, 0, Reg{0}, Imm{0}}, Exit{}};
  auto count = static_cast<int>(program->insns.size());
  int main_end = program->subprogram_starts.size() > 1 ? program->subprogram_starts[1] : count;
  Moved moved{main_end, 2, static_cast<int>(epilogue.size())};
  for (int i = 0; i < count; ++i) {
    if (i == main_end)
      for (const Op &op : epilogue) emit(op);
    Insn insn = program->insns[static_cast<size_t>(i)];
    if (auto *jump = std::get_if<Jump>(&insn.op)) jump->target = moved(jump->target);
    if (auto *jump = std::get_if<JumpIf>(&insn.op)) jump->target = moved(jump->target);
    if (auto *call = std::get_if<CallLocal>(&insn.op)) call->target = moved(call->target);
    if (auto *load = std::get_if<LoadFunction>(&insn.op)) load->target = moved(load->target);
    // The epilogue's place, which no instruction of the program has.
    if (std::holds_alternative<Exit>(insn.op) && i < main_end) insn.op = Jump{main_end + moved.before};
    insns.push_back(std::move(insn));
  }
  if (main_end == count)
    for (const Op &op : epilogue) emit(op);
  for (size_t n = 1; n < program->subprogram_starts.size(); ++n)
    program->subprogram_starts[n] = moved(program->subprogram_starts[n]);
  program->insns = std::move(insns);
}

}  // namespace

Result<std::vector<uint8_t>> parse_hex(const std::string &text) {
  std::vector<uint8_t> bytes;
  int half = -1;
  for (char c : text) {
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') continue;
    int value = digit(c);
    if (value < 0) return Error{format("'{}' is no hexadecimal digit", c)};
    if (half >= 0) bytes.push_back(static_cast<uint8_t>(half << 4 | value));
    half = half >= 0 ? -1 : value;
  }
  if (half >= 0) return Error{"half a byte at the end"};
  return bytes;
}

Result<Program> program_of_insns(std::vector<Insn> insns) {
  if (insns.empty()) return Error{"the program has no instructions"};
  Program program;
  program.name = "program";
  program.event.section = "gpu/entry";
  std::set<int> starts{0};
  for (const Insn &insn : insns) {
    if (auto *call = std::get_if<CallLocal>(&insn.op)) starts.insert(call->target);
    if (auto *load = std::get_if<LoadFunction>(&insn.op)) starts.insert(load->target);
  }
  if (*starts.begin() < 0 || *starts.rbegin() >= static_cast<int>(insns.size()))
    return Error{"a call's target is outside the program"};
  program.subprogram_starts.assign(starts.begin(), starts.end());
  for (int start : starts)
    program.subprogram_names.push_back(start == 0 ? program.name : format("func_{}", start));
  program.insns = std::move(insns);
  return program;
}

Result<Program> program_of_bytecode(const std::vector<uint8_t> &bytes) {
  if (bytes.empty() || bytes.size() % sizeof(RawInsn))
    return Error{format("{} bytes are no whole number of 8-byte instructions", bytes.size())};
  std::vector<RawInsn> code(bytes.size() / sizeof(RawInsn));
  std::memcpy(code.data(), bytes.data(), bytes.size());
  TRY(std::vector<Insn> insns, decode(code));
  return program_of_insns(std::move(insns));
}

Result<Program> program_of_elf(const std::vector<uint8_t> &bytes, Object *object) {
  auto read = read_object("stdin", bytes, {});
  if (read && !read->programs.empty()) {
    Program program = read->programs[0];
    *object = *std::move(read);
    return program;
  }
  TRY(ElfFile elf, ElfFile::parse(bytes));
  for (size_t i = 0; i < elf.sections().size(); ++i) {
    const ElfSection &section = elf.sections()[i];
    if (section.type != kProgbits || !(section.flags & kCodeFlags) || section.size_bytes == 0) continue;
    if (!elf.relocations(i).empty()) continue;
    return program_of_bytecode({section.data, section.data + section.size_bytes});
  }
  if (!read) return std::move(read).error();
  return Error{"the object holds no program"};
}

Result<Prepared> prepare(const Job &job) {
  // Behind the main program comes code of ours, into which it must not run.
  const std::vector<int> &starts = job.program.subprogram_starts;
  size_t end = starts.size() > 1 ? static_cast<size_t>(starts[1]) : job.program.insns.size();
  const Op &last = job.program.insns[end - 1].op;
  if (!std::holds_alternative<Exit>(last) && !std::holds_alternative<Jump>(last))
    return Error{"execution can run off the end of the program"};
  Prepared p;
  p.program = job.program;
  p.object = job.object;
  p.object.programs.clear();
  if (!job.memory.empty()) {
    p.memory_map = add_map(&p.object, "memory", job.memory.size());
    p.object.maps.back().initial = job.memory;
  }
  p.result_map = add_map(&p.object, "result", 8);
  wrap(&p.program, p.memory_map, job.memory.size(), p.result_map);
  if (job.verified) {
    VerifyOptions options;
    options.max_insns = job.max_insns;
    TRY(p.facts, verify(p.program, p.object, options));
  } else {
    TRY(p.facts, unverified_facts(p.program, add_map(&p.object, "stack", kStackBytes)));
  }
  return p;
}

uint64_t nanoseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

Result<Outcome> interpret(const Job &job) {
  Outcome outcome;
  outcome.memory = job.memory;
  Interpreter interpreter(job.program.insns);
  interpreter.set_strict(job.verified);
  interpreter.set_max_insns(job.max_insns);
  interpreter.on_helper([](int32_t id, const std::array<uint64_t, 5> &) -> Result<uint64_t> {
    if (id == kTimeHelper) return nanoseconds();
    return Error{"this helper has no form here"};
  });
  // Global data; what a look-up would find has no form here.
  std::vector<std::vector<uint8_t>> values;
  for (const MapSpec &map : job.object.maps) {
    values.push_back(map.initial);
    values.back().resize(map.shape.value_size);
    uint64_t address = kMapAddress + kMapDistance * (values.size() - 1);
    interpreter.memory().add({map.name, address, values.back().data(), values.back().size(), !map.read_only});
  }
  interpreter.on_map([](int map, std::optional<uint32_t> offset) -> Result<uint64_t> {
    if (!offset) return Error{"maps have no form here, only global data has"};
    return kMapAddress + kMapDistance * static_cast<uint64_t>(map) + *offset;
  });
  bool some = !job.memory.empty();
  if (some)
    interpreter.memory().add({"the memory", kMemoryAddress, outcome.memory.data(), outcome.memory.size()});
  TRY(outcome.r0, interpreter.run(some ? kMemoryAddress : 0, job.memory.size()));
  return outcome;
}

}  // namespace egpu::bpf::run
