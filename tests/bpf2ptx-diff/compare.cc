#include "tests/bpf2ptx-diff/compare.h"

#include <algorithm>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf::run {
namespace {

std::string show(const Outcome &outcome) {
  std::string text = hex(outcome.r0) + ", memory";
  for (size_t i = 0; i < outcome.memory.size(); ++i)
    text += (i % 8 ? "" : " ") + hex(outcome.memory[i], 2).substr(2);
  return text;
}

// Without instructions [begin, end); targets follow. Nothing if a target or start is lost.
std::optional<Job> without(const Job &job, int begin, int end) {
  std::vector<Insn> insns;
  auto moved = [&](int target) { return target <= begin ? target : std::max(begin, target - (end - begin)); };
  for (int i = 0; i < static_cast<int>(job.program.insns.size()); ++i) {
    if (i >= begin && i < end) continue;
    Insn insn = job.program.insns[static_cast<size_t>(i)];
    if (auto *jump = std::get_if<Jump>(&insn.op)) jump->target = moved(jump->target);
    if (auto *jump = std::get_if<JumpIf>(&insn.op)) jump->target = moved(jump->target);
    if (auto *call = std::get_if<CallLocal>(&insn.op)) call->target = moved(call->target);
    if (auto *load = std::get_if<LoadFunction>(&insn.op)) load->target = moved(load->target);
    insns.push_back(std::move(insn));
  }
  auto program = program_of_insns(std::move(insns));
  if (!program) return std::nullopt;
  Job smaller = job;
  smaller.program = *std::move(program);
  return smaller;
}

}  // namespace

Comparison compare(const std::vector<Job> &jobs, const std::vector<Machine> &machines) {
  Comparison result;
  Batch prepared;
  std::vector<size_t> which;
  std::vector<Outcome> expected;
  for (size_t i = 0; i < jobs.size(); ++i) {
    auto p = prepare(jobs[i]);
    if (!p) continue;
    auto outcome = interpret(jobs[i]);
    if (!outcome) {
      result.differences.push_back({i, "interp: verified, but " + outcome.error().message});
      continue;
    }
    prepared.push_back(*std::move(p));
    which.push_back(i);
    expected.push_back(*std::move(outcome));
  }
  result.compared = prepared.size();
  if (prepared.empty()) return result;
  for (const Machine &machine : machines) {
    auto outcomes = machine.run(prepared);
    if (!outcomes) {
      // One of them; alone, the others are as they should be.
      std::string text = format("{}: {}", machine.name, outcomes.error().message);
      if (prepared.size() == 1) {
        result.differences.push_back({which[0], text});
        continue;
      }
      for (size_t i : which)
        for (const Difference &d : compare({jobs[i]}, machines).differences)
          result.differences.push_back({i, d.text});
      if (result.differences.empty()) result.differences.push_back({which[0], text + " (the batch)"});
      return result;
    }
    for (size_t i = 0; i < which.size(); ++i)
      if ((*outcomes)[i] != expected[i])
        result.differences.push_back(
            {which[i], format("interp: {}\n{}: {}", show(expected[i]), machine.name, show((*outcomes)[i]))});
  }
  return result;
}

Job shrink(const Job &job, const std::function<bool(const Job &)> &fails) {
  Job smallest = job;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (auto chunk = static_cast<int>(smallest.program.insns.size()) / 2; chunk > 0; chunk /= 2)
      for (int begin = 0; begin + chunk <= static_cast<int>(smallest.program.insns.size());) {
        auto candidate = without(smallest, begin, begin + chunk);
        if (candidate && fails(*candidate)) {
          smallest = *std::move(candidate);
          smaller = true;
        } else {
          begin += chunk;
        }
      }
  }
  return smallest;
}

std::string report(const Job &job, uint64_t seed, const Difference &difference,
                   const std::vector<Machine> &machines) {
  Job smallest = shrink(job, [&](const Job &j) { return !compare({j}, machines).differences.empty(); });
  Comparison last = compare({smallest}, machines);
  return format("seed {}:\n{}\nshrunk:\n{}{}", seed, difference.text, listing(smallest),
                last.differences.empty() ? "" : last.differences[0].text);
}

std::string listing(const Job &job) {
  std::string text;
  for (size_t i = 0; i < job.program.insns.size(); ++i)
    text += format("{}: {}\n", i, to_string(job.program.insns[i].op));
  text += "memory";
  for (uint8_t byte : job.memory) text += " " + hex(byte, 2).substr(2);
  return text + "\n";
}

}  // namespace egpu::bpf::run
