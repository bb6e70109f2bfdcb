// A reference interpreter for typed instructions: slow and plain, the oracle for the rest.
//
// In: instructions, memory regions, r1 and r2, and what to do at helper calls. Out: r0, or an
// Error that names the instruction and what it did wrong: an access outside every region, an
// unknown helper, too many instructions, calls too deep. Arithmetic is insn/semantics.h's.
//
// Strict mode also refuses what a verified program never does: misaligned accesses, reads of
// stack bytes and registers that were not written.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "lib/bpf2ptx/insn/insn.h"
#include "lib/bpf2ptx/interp/memory.h"

namespace egpu::bpf {

class Interpreter {
 public:
  static constexpr int kRegs = 11, kStackBytes = 512, kMaxFrames = 8;
  // Where frames lie: frame d's r10 is kStackBase + (d + 1) * kFrameStride.
  static constexpr uint64_t kStackBase = 0x7fff'0000'0000, kFrameStride = 0x10000;

  struct Registers {
    std::array<uint64_t, kRegs> value{};
    std::array<bool, kRegs> known{};  // was it written?
  };
  /// r0 of a helper, from r1 to r5. bpf_loop (181) is the interpreter's own.
  using HelperCall = std::function<Result<uint64_t>(int32_t id, const std::array<uint64_t, 5> &args)>;
  /// What LoadMap gives (offset empty) and LoadMapValue (offset set).
  using MapAddress = std::function<Result<uint64_t>(int map, std::optional<uint32_t> offset)>;
  /// Called before each instruction.
  using Trace = std::function<Result<Ok>(int insn, int frame, const Registers &registers)>;

  explicit Interpreter(const std::vector<Insn> &insns) : insns_(insns) {}

  Memory &memory() { return memory_; }
  void on_helper(HelperCall call) { helper_ = std::move(call); }
  void on_map(MapAddress address) { map_ = std::move(address); }
  void on_insn(Trace trace) { trace_ = std::move(trace); }
  void set_strict(bool strict);
  void set_max_insns(uint64_t count) { max_insns_ = count; }

  /// Runs from instruction 0 to its exit.
  Result<uint64_t> run(uint64_t r1, uint64_t r2);
  uint64_t executed() const { return executed_; }

 private:
  friend struct InsnRunner;
  Result<uint64_t> call(int target, const std::array<uint64_t, 5> &args, int known_args);
  Result<uint64_t> loop(const std::array<uint64_t, 5> &args);

  const std::vector<Insn> &insns_;
  Memory memory_;
  HelperCall helper_;
  MapAddress map_;
  Trace trace_;
  bool strict_ = false;
  uint64_t max_insns_ = 1 << 20, executed_ = 0;
  int depth_ = 0;
};

}  // namespace egpu::bpf
