#include "lib/bpf2ptx/verify/structure.h"

#include <algorithm>
#include <set>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {
namespace {

class Checker {
 public:
  Checker(const Program &program, const Object &object, const Messages &messages)
      : program_(program),
        object_(object),
        messages_(messages),
        count_(static_cast<int>(program.insns.size())) {}

  Result<Structure> check() {
    if (count_ == 0) return messages_.error(-1, "the program has no instructions");
    find_subprograms();
    s_.join.assign(program_.insns.size(), false);
    for (int i = 0; i < count_; ++i)
      if (auto e = check_insn(i)) return *e;
    for (size_t n = 0; n < s_.starts.size(); ++n) {
      int last = end_of(n) - 1;
      const Op &op = op_at(last);
      if (!std::holds_alternative<Exit>(op) && !std::holds_alternative<Jump>(op))
        return messages_.error(
            last, format("execution can run off the end of {}; it must end with return", s_.names[n]));
    }
    if (auto e = check_reachable()) return *e;
    return std::move(s_);
  }

 private:
  const Op &op_at(int i) const { return program_.insns[static_cast<size_t>(i)].op; }
  int end_of(size_t n) const { return n + 1 < s_.starts.size() ? s_.starts[n + 1] : count_; }
  bool inside(int target) const { return target >= 0 && target < count_; }

  void find_subprograms() {
    std::set<int> starts{0};
    for (int start : program_.subprogram_starts)
      if (inside(start)) starts.insert(start);
    for (const Insn &insn : program_.insns) {
      if (auto *call = std::get_if<CallLocal>(&insn.op); call && inside(call->target))
        starts.insert(call->target);
      if (auto *load = std::get_if<LoadFunction>(&insn.op); load && inside(load->target))
        starts.insert(load->target);
    }
    s_.starts.assign(starts.begin(), starts.end());
    for (size_t n = 0; n < s_.starts.size(); ++n) {
      for (int i = s_.starts[n]; i < end_of(n); ++i) s_.subprogram_of.push_back(static_cast<int>(n));
      std::string name = n == 0 ? program_.name : format("the function at insn {}", s_.starts[n]);
      for (size_t k = 0;
           n > 0 && k < program_.subprogram_starts.size() && k < program_.subprogram_names.size(); ++k)
        if (program_.subprogram_starts[k] == s_.starts[n]) name = program_.subprogram_names[k];
      s_.names.push_back(name + "()");
    }
  }

  std::optional<Error> check_insn(int i) {
    const Op &op = op_at(i);
    if (auto *load = std::get_if<LoadMap>(&op)) return check_map(i, load->map);
    if (auto *load = std::get_if<LoadMapValue>(&op)) {
      if (auto e = check_map(i, load->map)) return e;
      const MapSpec &map = object_.maps[static_cast<size_t>(load->map)];
      if (map.shape.type != map::Type::array)
        return messages_.error(
            i, format("'{}' is no array; only globals and arrays have a fixed value 0", map.name));
      if (load->offset >= map.shape.value_size)
        return messages_.error(i, format("offset {} is outside '{}', which has {} bytes", load->offset,
                                         map.name, map.shape.value_size));
    }
    int target = -1;
    bool jumps = false;
    if (auto *jump = std::get_if<Jump>(&op)) target = jump->target, jumps = true;
    if (auto *jump = std::get_if<JumpIf>(&op)) target = jump->target, jumps = true;
    if (auto *call = std::get_if<CallLocal>(&op); call && !inside(call->target))
      return messages_.error(i, "the call's target is outside the program");
    if (auto *load = std::get_if<LoadFunction>(&op); load && !inside(load->target))
      return messages_.error(i, "the callback is outside the program");
    if (!jumps) return std::nullopt;
    if (!inside(target) || subprogram(target) != subprogram(i))
      return messages_.error(i, "the jump leaves its function");
    s_.join[static_cast<size_t>(target)] = true;
    return std::nullopt;
  }

  int subprogram(int i) const { return s_.subprogram_of[static_cast<size_t>(i)]; }

  std::optional<Error> check_map(int i, int map) const {
    if (map >= 0 && static_cast<size_t>(map) < object_.maps.size()) return std::nullopt;
    return messages_.error(i, format("there is no map number {}", map));
  }

  std::optional<Error> check_reachable() const {
    std::vector<bool> seen(program_.insns.size(), false);
    std::vector<int> todo{0};
    while (!todo.empty()) {
      int i = todo.back();
      todo.pop_back();
      if (seen[static_cast<size_t>(i)]) continue;
      seen[static_cast<size_t>(i)] = true;
      const Op &op = op_at(i);
      if (auto *jump = std::get_if<Jump>(&op)) {
        todo.push_back(jump->target);
        continue;
      }
      if (std::holds_alternative<Exit>(op)) continue;
      todo.push_back(i + 1);
      if (auto *jump = std::get_if<JumpIf>(&op)) todo.push_back(jump->target);
      if (auto *call = std::get_if<CallLocal>(&op)) todo.push_back(call->target);
      if (auto *load = std::get_if<LoadFunction>(&op)) todo.push_back(load->target);
    }
    for (int i = 0; i < count_; ++i)
      if (!seen[static_cast<size_t>(i)])
        return messages_.error(i, "nothing leads to this instruction; remove the dead code");
    return std::nullopt;
  }

  const Program &program_;
  const Object &object_;
  const Messages &messages_;
  int count_;
  Structure s_;
};

}  // namespace

Result<Structure> check_structure(const Program &program, const Object &object, const Messages &messages) {
  return Checker(program, object, messages).check();
}

}  // namespace egpu::bpf
