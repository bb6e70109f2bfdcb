#include "lib/loader/ptx/state.h"

#include <algorithm>

#include "lib/loader/ptx/form.h"
#include "lib/loader/ptx/symbols.h"

namespace egpu::ptx {
namespace {

constexpr uint32_t kStaticSharedLimit = 48 * 1024;  // CUDA C++ guide: static shared memory per block

// Calls visit(function use, point, probe's number) for every site of the kernel.
template <class Visit>
void for_each_site(const KernelUse &k, Visit visit) {
  for (const FunctionUse &use : k.functions)
    for (const Point &point : use.points)
      for (int p : point.probes) visit(use, point, p);
}

uint64_t shared_of_original(const Analysis &a, const KernelUse &k, bool *dynamic) {
  uint64_t bytes = 0;
  for (const FunctionUse &use : k.functions) bytes += a.facts.at(use.function).shared_bytes;
  for (uint32_t index : k.variables) {
    const Variable &v = a.module.variables[index];
    if (v.space != ".shared") continue;
    if (v.is_extern)
      *dynamic = true;
    else
      bytes += v.bytes + shared_alignment(v) - 1;
  }
  return bytes;
}

std::set<int> called_probes(const KernelUse &k, const std::vector<Probe> &probes,
                            const std::vector<Body> &bodies) {
  std::vector<BodyUse> uses;
  for (size_t p = 0; p < probes.size(); ++p) uses.push_back({probes[p].form, bodies[p].statements(), 0});
  for (const Site &site : k.plan.sites) ++uses[static_cast<size_t>(site.probe)].sites;
  std::vector<bool> called = choose_called(uses);
  std::set<int> out;
  for (size_t p = 0; p < probes.size(); ++p)
    if (called[p] && uses[p].sites != 0) out.insert(static_cast<int>(p));
  return out;
}

}  // namespace

bool State::has_warp_part() const {
  if (warp_counts != kNowhere) return true;
  return std::any_of(cookies.begin(), cookies.end(), [](const auto &c) {
    return c.first.first == Scope::warp && c.second.place == CookiePlace::shared;
  });
}

bool argument_number(const std::string &symbol, uint32_t *k) {
  constexpr std::string_view kPrefix = "egpu_arg_";
  uint64_t n = 0;
  if (symbol.substr(0, kPrefix.size()) != kPrefix) return false;
  for (char c : symbol.substr(kPrefix.size()))
    if (c < '0' || c > '9' || (n = n * 10 + static_cast<uint64_t>(c - '0')) > 0xffff) return false;
  *k = static_cast<uint32_t>(n);
  return symbol.size() > kPrefix.size();
}

State decide_state(const Analysis &a, const KernelUse &k, const std::vector<Probe> &probes,
                   const std::vector<Body> &bodies, uint32_t ordinal, std::string *problem) {
  State s;
  s.called = called_probes(k, probes, bodies);
  const Function &entry = a.module.functions[k.function];
  s.area = "egpu_shared_" + std::to_string(ordinal);
  if (entry.threads != 0) s.threads = std::min(entry.threads, 1024u);
  s.warps = (s.threads + 31) / 32;
  auto take = [&](uint32_t count) {
    uint32_t at = s.bytes;
    s.bytes += 8 * count;
    return at;
  };
  bool warp_exit = false, block_exit = false;
  for_each_site(k, [&](const FunctionUse &use, const Point &point, int number) {
    const Probe &p = probes[static_cast<size_t>(number)];
    bool in_func = use.function != k.function;
    bool is_exit = point.kind == EventKind::exit;
    if (is_exit && p.event.scope == Scope::warp) warp_exit = true;
    if (is_exit && p.event.scope == Scope::block) block_exit = true;
    if (is_exit && p.event.scope == Scope::grid) {
      s.grid_exit = block_exit = true;
      if (in_func && s.saved_slot == kNowhere) s.saved_slot = take(1);
    }
    if (in_func && p.symbols.count("egpu_launch_ns") != 0 && s.saved_launch_ns == kNowhere)
      s.saved_launch_ns = take(1);
    for (const std::string &symbol : p.symbols) {
      uint32_t n = 0;
      bool saved = in_func && argument_number(symbol, &n) && n < entry.parameters.size();
      if (saved && s.saved_arguments.count(n) == 0) s.saved_arguments[n] = take(1);
    }
    for (const std::string &symbol : p.symbols)
      if (is_shard(symbol) && !in_func && point.kind == EventKind::insn && s.called.count(number) == 0)
        s.shards.insert({p.object, symbol});
    if (p.symbols.count("egpu_cookie") == 0) return;
    Cookie &cookie = s.cookies[{p.event.scope, p.object}];
    bool same_thread = p.event.scope == Scope::thread || point.kind == EventKind::entry;
    if (in_func || !same_thread) cookie.place = CookiePlace::shared;
  });
  uint32_t slot_cookies = 0;
  for (auto &[key, cookie] : s.cookies) {
    if (cookie.place == CookiePlace::reg) continue;
    if (key.first == Scope::grid) {
      cookie.place = CookiePlace::slot;
      s.slot_cookie = true;
      ++slot_cookies;
    } else {
      cookie.offset = take(key.first == Scope::thread ? s.threads : key.first == Scope::warp ? s.warps : 1);
      if (key.first == Scope::block) s.initialised_by_one = true;
    }
  }
  if (slot_cookies > 1 && problem->empty()) *problem = "programs of two objects use the cookie of the grid";
  if (warp_exit) s.warp_counts = take((s.warps + 1) / 2);
  if (block_exit) s.block_count = take(1);
  if (block_exit || s.saved_slot != kNowhere || s.saved_launch_ns != kNowhere || !s.saved_arguments.empty())
    s.initialised_by_one = true;
  bool dynamic = false;
  uint64_t own = shared_of_original(a, k, &dynamic);
  if (s.bytes != 0 && dynamic) {
    s.alignment = 1024;
    s.bytes = (s.bytes + 1023) / 1024 * 1024;
  }
  if (s.bytes != 0 && own + s.bytes > kStaticSharedLimit && problem->empty())
    *problem = "its " + std::to_string(own) + " bytes of static shared memory and the " +
               std::to_string(s.bytes) + " that the probes need exceed 48 KiB";
  return s;
}

}  // namespace egpu::ptx
