#include "lib/loader/ptx/patch.h"

#include <algorithm>

#include "lib/loader/ptx/function.h"
#include "lib/loader/ptx/rewrite.h"
#include "lib/loader/ptx/splice.h"

namespace egpu::ptx {
namespace {

// The analysis of a module together with what its matched kernels must remember.
struct Prepared {
  Analysis analysis;
  std::vector<State> states;  // one for each kernel
  std::vector<Body> bodies;   // one for each probe
};

Result<Prepared> prepare(std::string_view text, const std::vector<Probe> &probes, uint32_t first_site_id) {
  Prepared out;
  for (const Probe &p : probes) {
    auto body = Body::prepare(p.body);
    if (!body) return std::move(body).error().in("body of " + p.name);
    out.bodies.push_back(*std::move(body));
  }
  TRY(out.analysis, analyze(text, probes, first_site_id));
  for (uint32_t i = 0; i < out.analysis.kernels.size(); ++i) {
    KernelUse &k = out.analysis.kernels[i];
    State state;
    if (k.plan.refused.empty() && !k.plan.sites.empty())
      state = decide_state(out.analysis, k, probes, out.bodies, i, &k.plan.refused);
    k.plan.shared_bytes = state.bytes;
    out.states.push_back(std::move(state));
  }
  return out;
}

bool is_patched(const KernelUse &k) { return k.plan.refused.empty() && !k.plan.sites.empty(); }

// Makes the text of the patched module, item by item in the order of the original.
class Writer {
 public:
  Writer(const Prepared &p, const std::vector<Probe> &probes, const Bindings &bindings)
      : p_(p), a_(p.analysis), m_(a_.module), probes_(probes), bindings_(bindings) {
    for (const KernelUse &k : a_.kernels) {
      if (!is_patched(k)) continue;
      variables_.insert(k.variables.begin(), k.variables.end());
      for (const FunctionUse &use : k.functions) {
        const FunctionFacts &facts = a_.facts.at(use.function);
        for (uint32_t declared : facts.declared) plain_.insert(m_.functions[declared].name);
        if (!use.cloned && use.function != k.function) plain_.insert(m_.functions[use.function].name);
      }
    }
  }

  Result<std::string> run() {
    bool areas_written = false;
    for (const Item &item : m_.items) {
      if (item.kind == ItemKind::directive) {
        directive(item);
      } else if (!areas_written) {
        for (size_t k = 0; k < p_.states.size(); ++k) area(k);
        TRY(std::string functions, called_bodies());
        out_ += functions;
        areas_written = true;
      }
      if (item.kind == ItemKind::variables) variables(item);
      if (item.kind == ItemKind::other) copy(item);
      if (item.kind == ItemKind::function) {
        TRY(Ok ok, function(item.first));
        (void)ok;
      }
    }
    return std::move(out_);
  }

 private:
  void line(std::string_view text) {
    out_ += text;
    out_ += '\n';
  }
  void copy(const Item &item) { line(m_.slice(item.tokens)); }

  void directive(const Item &item) {
    std::string_view w = m_.word(item.tokens.first);
    if (w == ".version") {
      bool old = m_.ptx_major < 6 || (m_.ptx_major == 6 && m_.ptx_minor < 3);
      // activemask needs 6.2, bodies are 6.3. The mark keeps a later scan from taking this text for
      // one of the program's (lib/loader/fatbin/images.h).
      std::string version = old ? ".version 6.3" : std::string(m_.slice(item.tokens));
      return line(version + " // patched by eGPU");
    }
    if (w != ".target") return copy(item);
    // `debug` promises debug sections, which are left out: they name the kernels that are.
    std::string kept;
    for (uint32_t t = item.tokens.first + 1; t < item.tokens.last; ++t)
      if (m_.word(t) != "," && m_.word(t) != "debug")
        kept += (kept.empty() ? " " : ", ") + std::string(m_.word(t));
    line(".target" + kept);
  }

  void variables(const Item &item) {
    for (uint32_t i = item.first; i < item.first + item.count; ++i) {
      VariableUse use = use_of(m_.variables[i]);
      if (variables_.count(i) == 0 || (use != VariableUse::kept && use != VariableUse::copied)) continue;
      const Token &first = m_.tokens[item.tokens.first], &last = m_.tokens[item.tokens.last - 1];
      uint32_t end = last.offset + static_cast<uint32_t>(last.text.size());
      return line(apply(m_.text, first.offset, end, align_shared(m_, item.tokens)));
    }
  }

  // The shared area of one kernel, at module level so that its functions see it too.
  void area(size_t k) {
    const State &s = p_.states[k];
    if (!is_patched(a_.kernels[k]) || s.bytes == 0) return;
    line(".shared .align " + std::to_string(s.alignment) + " .b8 " + s.area + "[" + std::to_string(s.bytes) +
         "];");
  }

  // The bodies that a patched kernel calls.
  Result<std::string> called_bodies() const {
    std::set<int> called;
    for (size_t k = 0; k < p_.states.size(); ++k)
      if (is_patched(a_.kernels[k])) called.insert(p_.states[k].called.begin(), p_.states[k].called.end());
    std::string out;
    for (int probe : called) {
      size_t n = static_cast<size_t>(probe);
      TRY(std::string text, function_definition(probes_[n], n, p_.bodies[n], bindings_));
      out += text;
    }
    return out;
  }

  Result<Ok> function(uint32_t index) {
    const Function &f = m_.functions[index];
    uint32_t definition = a_.function_index.at(f.name);
    if (!f.entry && plain_.count(f.name) != 0) {
      if (!f.has_body)
        line(m_.slice(f.tokens));
      else
        line(apply(m_.text, begin(f), end(f), rewrite(a_, index, bindings_, {})));
    }
    for (size_t k = 0; k < a_.kernels.size(); ++k) {
      const KernelUse &kernel = a_.kernels[k];
      const FunctionUse *use = kernel.use_of(definition);
      if (!is_patched(kernel) || use == nullptr || (f.entry ? kernel.function != index : !use->cloned))
        continue;
      if (!f.has_body) {
        const Token &name = m_.tokens[f.name_token];
        line(apply(m_.text, begin(f), end(f),
                   {{name.offset, static_cast<uint32_t>(name.text.size()), clone_name(k, definition)}}));
        continue;
      }
      TRY(std::string text, patched_function(k, *use));
      line(text);
    }
    return Ok{};
  }

  uint32_t begin(const Function &f) const { return m_.tokens[f.tokens.first].offset; }
  uint32_t end(const Function &f) const {
    const Token &last = m_.tokens[f.tokens.last - 1];
    return last.offset + static_cast<uint32_t>(last.text.size());
  }
  std::string clone_name(size_t kernel, uint32_t function) const {
    return "egpu_" + std::to_string(kernel) + "_" + std::string(m_.functions[function].name);
  }

  Result<std::string> patched_function(size_t kernel, const FunctionUse &use) {
    const KernelUse &k = a_.kernels[kernel];
    const Function &f = m_.functions[use.function];
    std::map<uint32_t, std::string> callees;
    for (const FunctionUse &other : k.functions)
      if (other.cloned) callees[other.function] = clone_name(kernel, other.function);
    std::vector<Edit> edits = rewrite(a_, use.function, bindings_, callees);
    Splicer splicer(a_, k, p_.states[kernel], probes_, p_.bodies, bindings_);
    // Before the edits of the statement itself, after the address registers.
    auto place = edits.begin();
    if (place != edits.end() && place->erase == 0) ++place;
    std::vector<Edit> inserted;
    for (const Point &point : use.points) {
      TRY(std::string text, splicer.text(use, point));
      uint32_t token = point.statement < f.body.size() ? f.body[point.statement].tokens.first : f.body_close;
      inserted.push_back({m_.tokens[token].offset, 0, std::move(text)});
    }
    edits.insert(place, inserted.begin(), inserted.end());
    const Token &name = m_.tokens[f.name_token];
    if (use.cloned)
      edits.push_back(
          {name.offset, static_cast<uint32_t>(name.text.size()), clone_name(kernel, use.function)});
    if (f.entry && k.plan.adds_launch_parameters) edits.push_back(launch_parameters(f));
    return apply(m_.text, begin(f), end(f), std::move(edits));
  }

  Edit launch_parameters(const Function &f) const {
    std::string both =
        std::string("\t.param .u64 ") + kLaunchNsParameter + ",\n\t.param .u64 " + kLaunchSlotParameter;
    if (f.parameters_close != 0)
      return {m_.tokens[f.parameters_close].offset, 0, (f.parameters.empty() ? "\n" : ",\n") + both + "\n"};
    const Token &name = m_.tokens[f.name_token];
    return {name.offset + static_cast<uint32_t>(name.text.size()), 0, "(\n" + both + "\n)"};
  }

  const Prepared &p_;
  const Analysis &a_;
  const Module &m_;
  const std::vector<Probe> &probes_;
  const Bindings &bindings_;
  std::set<uint32_t> variables_;      // used by a patched kernel
  std::set<std::string_view> plain_;  // functions that are kept under their name
  std::string out_;
};

std::vector<KernelPlan> plans_of(const Analysis &a) {
  std::vector<KernelPlan> plans;
  for (const KernelUse &k : a.kernels) plans.push_back(k.plan);
  return plans;
}

}  // namespace

Result<Plan> plan(std::string text, const std::vector<Probe> &probes, uint32_t first_site_id) {
  Plan out;
  out.text = std::move(text);
  TRY(Prepared prepared, prepare(out.text, probes, first_site_id));
  std::set<std::string> globals;
  for (const KernelUse &k : prepared.analysis.kernels)
    if (is_patched(k)) globals.insert(k.globals.begin(), k.globals.end());
  out.globals.assign(globals.begin(), globals.end());
  out.kernels = plans_of(prepared.analysis);
  return out;
}

Result<Patched> patch(const Plan &plan, const std::vector<Probe> &probes, const Bindings &bindings) {
  uint32_t first_site_id = 0;
  for (const KernelPlan &k : plan.kernels) {
    if (k.sites.empty()) continue;
    first_site_id = k.sites.front().id;
    break;
  }
  TRY(Prepared prepared, prepare(plan.text, probes, first_site_id));
  bool any = false;
  for (KernelUse &k : prepared.analysis.kernels) {
    if (!bindings.kernel_ids.empty() && bindings.kernel_ids.count(k.plan.name) == 0) k.plan.sites.clear();
    for (const std::string &name : k.globals)
      if (is_patched(k) && bindings.globals.count(name) == 0)
        k.plan.refused = "the driver does not give the address of its variable " + name;
    any = any || is_patched(k);
  }
  Patched out;
  out.kernels = plans_of(prepared.analysis);
  if (!any) return out;
  TRY(out.text, Writer(prepared, probes, bindings).run());
  return out;
}

}  // namespace egpu::ptx
