#include "lib/bpf2ptx/lower/sharding.h"

#include <linux/bpf.h>

namespace egpu::bpf {
namespace {

struct Use {
  bool added = false;  // an atomic add without a result
  bool other = false;  // anything that needs the one true value
};

// What one instruction does to the values of maps.
void note_use(const Insn &insn, const InsnFacts &facts, std::vector<Use> *uses) {
  auto use_of = [&](const Pointer &pointer) -> Use * {
    return pointer.space == Space::map_value && pointer.map >= 0 ? &(*uses)[static_cast<size_t>(pointer.map)]
                                                                 : nullptr;
  };
  if (const auto *atomic = std::get_if<Atomic>(&insn.op)) {
    bool result = atomic->fetch && facts.result_used;
    if (Use *use = use_of(facts.memory))
      (atomic->op == AtomicOp::add && !result ? use->added : use->other) = true;
  } else if (std::holds_alternative<Load>(insn.op) || std::holds_alternative<Store>(insn.op)) {
    if (Use *use = use_of(facts.memory)) use->other = true;
  } else if (const auto *call = std::get_if<CallHelper>(&insn.op)) {
    for (const Argument &argument : facts.args)
      if (Use *use = use_of(argument.pointer)) use->other = true;
    if (call->id != BPF_FUNC_map_update_elem && call->id != BPF_FUNC_map_delete_elem) return;
    bool creates = call->id == BPF_FUNC_map_update_elem && facts.args[3].value == uint64_t{BPF_NOEXIST};
    const Pointer &map = facts.args[0].pointer;
    if (!creates && map.map >= 0) (*uses)[static_cast<size_t>(map.map)].other = true;
  }
}

}  // namespace

void decide_sharding(Object *object, const std::vector<Facts> &facts) {
  std::vector<Use> uses(object->maps.size());
  for (size_t p = 0; p < facts.size(); ++p)
    for (size_t i = 0; i < facts[p].insns.size(); ++i)
      if (facts[p].insns[i].reachable) note_use(object->programs[p].insns[i], facts[p].insns[i], &uses);
  for (size_t m = 0; m < uses.size(); ++m) {
    MapSpec &map = object->maps[m];
    map.summed = uses[m].added && !uses[m].other && !map.read_only && !map::is_percpu(map.shape.type) &&
                 map.shape.type != map::Type::ringbuf;
    map.sharded = map.summed || map::is_percpu(map.shape.type);
  }
}

}  // namespace egpu::bpf
