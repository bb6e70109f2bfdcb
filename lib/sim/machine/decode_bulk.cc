// Copies and reductions of whole ranges: cp.async.bulk, cp.reduce.async.bulk, st.bulk; and what completes
// asynchronous operations at a barrier. All are done at once. Source: PTX ISA 9.0, 9.7.9.25.
#include "lib/sim/machine/bulk.h"
#include "lib/sim/machine/decode.h"

namespace egpu::sim {

// The bytes have arrived: the barrier's phase may be complete. `multicast`: a mask of the cluster's blocks,
// in each of which a barrier lies at the same offset.
void Decoder::complete_at(const Operand &barrier, Space space, uint32_t bytes, uint32_t multicast) {
  const Address at = address(barrier, space);
  if (at.kind != Address::lanes) return not_simulated();
  Op &op = emit(multicast == kNone ? "mbarrier.complete_tx" : "mbarrier.complete_tx.multicast");
  op.a = at.ref;
  op.imm = at.offset;
  op.b = bytes;
  op.e = multicast;
  op.x = static_cast<uint8_t>(at.space);
  op.flags |= kHidden;
  if (at.narrow) op.flags |= kAddress32;
}

// Of st.async and red.async: the barrier is an operand in the space that the instruction names.
void Decoder::complete_bytes(size_t index, uint32_t bytes) {
  Operand size;
  size.value = bytes;
  complete_at(operand(index), space_of(*insn_), constant_of(size, Type::u32), kNone);
}

// cp.async.bulk.to.from.completion [to], [from], size{, [barrier]}{, blocks}{, policy}{, bytes}, and
// cp.reduce.async.bulk with an operation and a type.
void Decoder::bulk() {
  if (has("tensor")) return not_simulated();
  if (has("commit_group") || has("wait_group") || has("prefetch")) return (void)emit("nothing");
  std::vector<Space> spaces;
  for (std::string_view word : insn_->words)
    if (word == "global" || word == "shared::cta" || word == "shared::cluster")
      spaces.push_back(word == "global" ? Space::global : Space::shared);
  if (spaces.size() != 2) return not_simulated();
  std::string key = "bulk.copy";
  if (has("reduce")) {
    if (types_.empty()) return not_simulated();
    for (std::string_view word : {"add", "and", "or", "xor", "min", "max", "inc", "dec"})
      if (has(word)) key = "bulk." + std::string(word) + "." + atomic_suffix(word, types_.back());
  }
  const Address to = address(operand(0), spaces[0]), from = address(operand(1), spaces[1]);
  if (to.kind != Address::lanes || from.kind != Address::lanes) return not_simulated();
  const uint32_t size = source(2, Type::u32);
  size_t next = 3;
  const Operand *barrier = has("mbarrier::complete_tx::bytes") ? &operand(next++) : nullptr;
  const uint32_t blocks = has("multicast::cluster") ? source(next++, Type::u16) : kNone;
  if (has("L2::cache_hint")) ++next;
  const uint32_t bytes = has("cp_mask") ? source(next, Type::u16) : kNone;
  Op &op = emit(key);
  op.a = to.ref;
  op.imm = to.offset;
  op.b = from.ref;
  op.y = static_cast<uint32_t>(from.offset);
  op.c = size;
  op.d = bytes;
  op.e = blocks;
  op.x = static_cast<uint8_t>((to.narrow ? kToIsNarrow : 0) | (from.narrow ? kFromIsNarrow : 0) |
                              (to.space == Space::shared ? kToShared : 0) |
                              (from.space == Space::shared ? kFromShared : 0));
  if (barrier) complete_at(*barrier, Space::shared, size, blocks);
}

// st.bulk{.weak}{.shared::cta} [to], size, 0
void Decoder::store_bulk() {
  const Address to = address(operand(0), space_of(*insn_));
  if (to.kind != Address::lanes) return not_simulated();
  const uint32_t size = source(1, Type::u64);
  Op &op = emit("bulk.zero");
  op.a = to.ref;
  op.imm = to.offset;
  op.c = size;
  op.x = static_cast<uint8_t>(to.space);
  if (to.narrow) op.flags |= kAddress32;
}

}  // namespace egpu::sim
