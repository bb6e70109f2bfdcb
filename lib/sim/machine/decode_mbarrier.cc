// mbarrier, and cp.async.mbarrier.arrive. Source: PTX ISA 9.0, 9.7.13.15.
#include "lib/sim/machine/decode.h"

namespace egpu::sim {

void Decoder::mbarrier() {
  if (insn_->words[0] == "cp") {  // copies are done at once, so it arrives at once
    if (!has("noinc")) return (void)emit("nothing");
    Address at = address(operand(0), space_of(*insn_));
    if (at.kind != Address::lanes) return not_simulated();
    Op &op = emit("mbarrier.arrive");
    op.a = at.ref;
    op.imm = at.offset;
    op.x = static_cast<uint8_t>(at.space);
    if (at.narrow) op.flags |= kAddress32;
    return;
  }
  std::string what;
  for (std::string_view word : {"init", "inval", "arrive", "arrive_drop", "expect_tx", "complete_tx",
                                "test_wait", "try_wait", "pending_count"})
    if (insn_->words[1] == word) what = word;
  if (what.empty()) return not_simulated();
  bool waits = what == "test_wait" || what == "try_wait";
  if (what == "pending_count") {
    uint32_t a = source(1, Type::b64), d = destination(0, Type::u32);
    Op &op = emit("mbarrier.pending_count");
    op.d = d;
    op.a = a;
    return;
  }
  bool returns = waits || what.starts_with("arrive");
  size_t at_index = returns ? 1 : 0;
  Address at = address(operand(at_index), space_of(*insn_));
  if (at.kind != Address::lanes) return not_simulated();
  uint32_t b = kNone, d = kNone;
  if (operand_count() > at_index + 1)
    b = source(at_index + 1, waits && !has("parity") ? Type::b64 : Type::u32);
  if (waits)
    d = destination(0, Type::pred);
  else if (returns && operand(0).name != "_")
    d = destination(0, Type::b64);
  std::string key = waits ? (has("parity") ? "mbarrier.wait.parity" : "mbarrier.wait") : "mbarrier." + what;
  if (what.starts_with("arrive") && has("expect_tx")) key += ".expect_tx";
  Op &op = emit(key);
  op.d = d;
  op.a = at.ref;
  op.b = b;
  op.imm = at.offset;
  op.x = static_cast<uint8_t>(at.space);
  op.n = has("noComplete") ? 2 : 1;
  if (at.narrow) op.flags |= kAddress32;
}

}  // namespace egpu::sim
