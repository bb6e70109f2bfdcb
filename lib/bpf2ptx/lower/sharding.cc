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
  const auto *atomic = std::get_if<Atomic>(&insn.op);
  bool only_adds = atomic && atomic->op == AtomicOp::add && !(atomic->fetch && facts.result_used);
  for (const Pointer &memory : facts.memory) {
    if (memory.space != Space::map_value || memory.map < 0) continue;
    Use &use = (*uses)[static_cast<size_t>(memory.map)];
    (only_adds ? use.added : use.other) = true;
  }
  const auto *helper = std::get_if<CallHelper>(&insn.op);
  for (const HelperCall &call : facts.calls) {
    for (const Argument &argument : call.args)
      for (const Pointer &pointer : argument.pointers)
        if (pointer.space == Space::map_value) (*uses)[static_cast<size_t>(pointer.map)].other = true;
    if (helper->id != BPF_FUNC_map_update_elem && helper->id != BPF_FUNC_map_delete_elem) continue;
    bool creates = helper->id == BPF_FUNC_map_update_elem && call.args[3].value == uint64_t{BPF_NOEXIST};
    if (!creates) (*uses)[static_cast<size_t>(call.args[0].pointers[0].map)].other = true;
  }
}

}  // namespace

void decide_sharding(Object *object, const std::vector<Facts> &facts) {
  std::vector<Use> uses(object->maps.size());
  for (size_t p = 0; p < facts.size(); ++p)
    for (const Chain &chain : facts[p].chains)
      for (int i = chain.begin; i < chain.end; ++i)
        note_use(object->programs[p].insns[static_cast<size_t>(i)], chain.at(i), &uses);
  for (size_t m = 0; m < uses.size(); ++m) {
    MapSpec &map = object->maps[m];
    map.summed = uses[m].added && !uses[m].other && !map.read_only && !map::is_percpu(map.shape.type) &&
                 map.shape.type != map::Type::ringbuf;
    map.sharded = map.summed || map::is_percpu(map.shape.type);
  }
}

}  // namespace egpu::bpf
