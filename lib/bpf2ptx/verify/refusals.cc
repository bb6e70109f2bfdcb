#include "lib/bpf2ptx/verify/refusals.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "lib/bpf2ptx/insn/format.h"

namespace egpu::bpf {
namespace {

// "file:line:col: error: text"
std::string_view headline(const Refusal &refusal) {
  return std::string_view(refusal.message).substr(0, refusal.message.find('\n'));
}

auto position(const Refusal &r) { return std::tie(r.where.file, r.where.line, r.where.column, r.insn); }

}  // namespace

bool same_cause(const Refusal &a, const Refusal &b) { return headline(a) == headline(b); }

Error join(std::vector<Refusal> refusals) {
  assert(!refusals.empty());
  std::stable_sort(refusals.begin(), refusals.end(),
                   [](const Refusal &a, const Refusal &b) { return position(a) < position(b); });
  refusals.erase(std::unique(refusals.begin(), refusals.end(), same_cause), refusals.end());
  std::string text;
  for (size_t i = 0; i < std::min(refusals.size(), kMaxRefusals); ++i)
    text += (i ? "\n" : "") + refusals[i].message;
  if (refusals.size() > kMaxRefusals) text += format("\nand {} more", refusals.size() - kMaxRefusals);
  return {text};
}

}  // namespace egpu::bpf
