#include "lib/loader/ptx/analyze.h"

#include <algorithm>
#include <deque>

#include "lib/loader/ptx/match.h"

namespace egpu::ptx {
namespace {

const Probe &probe_at(const std::vector<Probe> &probes, int index) {
  return probes[static_cast<size_t>(index)];
}

void index_names(Analysis *a) {
  const Module &m = a->module;
  for (uint32_t i = 0; i < m.functions.size(); ++i) {
    auto [at, added] = a->function_index.emplace(m.functions[i].name, i);
    if (!added && m.functions[i].has_body) at->second = i;  // a definition after its declaration
  }
  for (uint32_t i = 0; i < m.variables.size(); ++i) {
    auto [at, added] = a->variable_index.emplace(m.variables[i].name, i);
    if (!added && !m.variables[i].is_extern) at->second = i;
  }
}

// What keeps every kernel of the module from being patched.
std::string module_problem(const Module &m) {
  if (m.version_token == 0) return "the module has no .version";
  if (m.sm < 70) return "needs sm_70, the module is for " + std::string(m.target.empty() ? "none" : m.target);
  if (m.address_size != 64) return "needs .address_size 64";
  for (const Token &t : m.tokens)
    if (t.kind == TokenKind::word && t.text.substr(0, 5) == "egpu_")
      return "line " + std::to_string(t.line) + ": the module uses the name " + std::string(t.text) +
             "; names that begin with egpu_ are ours";
  return "";
}

// The name of a function that the variable's first value leads to, through other variables;
// empty if none.
std::string leads_to_function(const Analysis &a, uint32_t variable) {
  std::set<uint32_t> seen;
  std::deque<uint32_t> queue{variable};
  while (!queue.empty()) {
    uint32_t index = queue.front();
    queue.pop_front();
    if (!seen.insert(index).second) continue;
    Span value = a.module.variables[index].initialiser;
    for (uint32_t t = value.first; t < value.last; ++t) {
      std::string_view name = a.module.word(t);
      if (a.module.tokens[t].kind != TokenKind::word) continue;
      if (a.function_index.count(name) != 0 || a.module.aliases.count(name) != 0) return std::string(name);
      auto next = a.variable_index.find(name);
      if (next != a.variable_index.end()) queue.push_back(next->second);
    }
  }
  return "";
}

// Fills the kernel's functions, variables and globals, and its reasons to be refused.
void close_over_calls(Analysis *a, KernelUse *k) {
  const Module &m = a->module;
  auto refuse = [&](const std::string &why) {
    if (k->plan.refused.empty()) k->plan.refused = why;
  };
  std::set<uint32_t> reached;
  std::deque<uint32_t> queue{k->function};
  while (!queue.empty()) {
    uint32_t index = queue.front();
    queue.pop_front();
    if (!reached.insert(index).second) continue;
    auto facts = a->facts.find(index);
    if (facts == a->facts.end()) facts = a->facts.emplace(index, facts_of(*a, m.functions[index])).first;
    if (!facts->second.problem.empty()) refuse(facts->second.problem);
    k->variables.insert(facts->second.variables.begin(), facts->second.variables.end());
    for (const Reference &call : facts->second.calls) queue.push_back(call.index);
  }
  for (uint32_t index : reached) k->functions.push_back({index, {}, false});
  for (uint32_t index : k->variables) {
    const Variable &v = m.variables[index];
    VariableUse use = use_of(v);
    if (use == VariableUse::opaque) refuse("uses the texture or surface reference " + std::string(v.name));
    if (use != VariableUse::by_address) continue;
    k->globals.insert(std::string(v.name));
    if (std::string function = leads_to_function(*a, index); !function.empty())
      refuse("variable " + std::string(v.name) + " holds the address of function " + function);
  }
}

void place_points(const Analysis &a, const std::vector<Probe> &probes, uint32_t *next_site, KernelUse *k) {
  const Module &m = a.module;
  for (FunctionUse &use : k->functions) {
    const Function &f = m.functions[use.function];
    std::string problem;
    use.points = find_points(m, f, probes, k->probes, &problem);
    if (!problem.empty() && k->plan.refused.empty()) k->plan.refused = problem;
    for (Point &point : use.points) {
      for (int p : point.probes) {
        point.sites.push_back((*next_site)++);
        k->plan.sites.push_back({point.sites.back(), p, where(m, f, point.statement)});
      }
    }
    use.cloned = !f.entry && !use.points.empty();
  }
  // A function that calls a clone is one too, up to the entry.
  for (bool changed = true; changed;) {
    changed = false;
    for (FunctionUse &use : k->functions) {
      if (use.cloned || m.functions[use.function].entry) continue;
      for (const Reference &call : a.facts.at(use.function).calls) {
        const FunctionUse *callee = k->use_of(call.index);
        if (callee == nullptr || !callee->cloned) continue;
        use.cloned = changed = true;
      }
    }
  }
}

// The launch parameters: probes that read the launch's time, and exits of the whole grid,
// which are counted in the launch slot.
void decide_launch_parameters(const std::vector<Probe> &probes, const Module &m, KernelUse *k) {
  for (const Site &site : k->plan.sites) {
    const Probe &p = probe_at(probes, site.probe);
    bool grid_exit = p.event.scope == Scope::grid && p.event.kind == EventKind::exit;
    if (grid_exit || p.symbols.count("egpu_launch_ns") != 0) k->plan.adds_launch_parameters = true;
  }
  if (!k->plan.adds_launch_parameters || !k->plan.refused.empty()) return;
  // PTX ISA 9.0, 5.1.6.1: 4,096 bytes, from PTX 8.1 on 32,764.
  bool large = m.ptx_major > 8 || (m.ptx_major == 8 && m.ptx_minor >= 1);
  uint64_t bytes = (uint64_t{k->plan.parameter_bytes} + 7) / 8 * 8 + 16;
  if (bytes > (large ? 32764u : 4096u))
    k->plan.refused = "its parameters leave no room for the two that probes need";
}

}  // namespace

Result<Analysis> analyze(std::string_view text, const std::vector<Probe> &probes, uint32_t first_site_id) {
  Analysis a;
  TRY(a.module, parse(text));
  index_names(&a);
  const std::string problem = module_problem(a.module);
  uint32_t next_site = first_site_id;
  for (uint32_t i = 0; i < a.module.functions.size(); ++i) {
    const Function &f = a.module.functions[i];
    if (!f.entry || !f.has_body) continue;
    KernelUse k;
    k.function = i;
    k.plan.name = std::string(f.name);
    k.plan.parameter_count = static_cast<uint32_t>(f.parameters.size());
    k.plan.parameter_bytes = f.parameter_bytes;
    std::vector<int> matched;
    for (size_t p = 0; p < probes.size(); ++p)
      if (kernel_matches(probes[p].event.kernel, k.plan.name)) matched.push_back(static_cast<int>(p));
    for (int p : matched)
      if (std::string why = unsupported(probe_at(probes, p).event); !why.empty() && k.plan.refused.empty())
        k.plan.refused = probe_at(probes, p).name + ": " + why;
    if (!matched.empty() && k.plan.refused.empty()) k.plan.refused = problem;
    k.probes = std::move(matched);
    if (!k.probes.empty() && k.plan.refused.empty()) {
      close_over_calls(&a, &k);
      place_points(a, probes, &next_site, &k);
      if (k.plan.sites.empty()) k.plan.refused.clear();  // nothing to do is no failure
      decide_launch_parameters(probes, a.module, &k);
    }
    a.kernels.push_back(std::move(k));
  }
  return a;
}

}  // namespace egpu::ptx
