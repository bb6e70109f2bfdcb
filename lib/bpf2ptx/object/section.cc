// SEC("gpu[.scope]/event[/kernel]") to an Event. Fixed words come first; the kernel glob is
// everything after the second slash and may hold slashes, spaces, `<` and `(`.
// Source: docs/probe-language.md, "Sections".
#include <array>

#include "egpu/near_name.h"
#include "lib/bpf2ptx/object/object.h"

namespace egpu::bpf {
namespace {

struct ScopeWord {
  const char *word;
  Scope scope;
};
constexpr std::array kScopes = {ScopeWord{"gpu", Scope::thread}, ScopeWord{"gpu.warp", Scope::warp},
                                ScopeWord{"gpu.block", Scope::block}, ScopeWord{"gpu.grid", Scope::grid}};

// PTX ISA 9.0, section 9.7: first parts of instructions. A word outside this list is a typing
// error; whether a known one can be probed is lib/loader/ptx's to say.
constexpr std::array kOpcodes = {"abs",
                                 "activemask",
                                 "add",
                                 "addc",
                                 "alloca",
                                 "and",
                                 "applypriority",
                                 "atom",
                                 "bar",
                                 "barrier",
                                 "bfe",
                                 "bfi",
                                 "bfind",
                                 "bmsk",
                                 "bra",
                                 "brev",
                                 "brkpt",
                                 "brx",
                                 "call",
                                 "clusterlaunchcontrol",
                                 "clz",
                                 "cnot",
                                 "copysign",
                                 "cos",
                                 "cp",
                                 "createpolicy",
                                 "cvt",
                                 "cvta",
                                 "discard",
                                 "div",
                                 "dp2a",
                                 "dp4a",
                                 "elect",
                                 "ex2",
                                 "fence",
                                 "fma",
                                 "fns",
                                 "getctarank",
                                 "griddepcontrol",
                                 "isspacep",
                                 "istypep",
                                 "ld",
                                 "ldmatrix",
                                 "ldu",
                                 "lg2",
                                 "lop3",
                                 "mad",
                                 "mad24",
                                 "madc",
                                 "mapa",
                                 "match",
                                 "max",
                                 "mbarrier",
                                 "membar",
                                 "min",
                                 "mma",
                                 "mov",
                                 "movmatrix",
                                 "mul",
                                 "mul24",
                                 "multimem",
                                 "nanosleep",
                                 "neg",
                                 "not",
                                 "or",
                                 "pmevent",
                                 "popc",
                                 "prefetch",
                                 "prefetchu",
                                 "prmt",
                                 "rcp",
                                 "red",
                                 "redux",
                                 "rem",
                                 "ret",
                                 "rsqrt",
                                 "sad",
                                 "selp",
                                 "set",
                                 "setmaxnreg",
                                 "setp",
                                 "shf",
                                 "shfl",
                                 "shl",
                                 "shr",
                                 "sin",
                                 "slct",
                                 "sqrt",
                                 "st",
                                 "stackrestore",
                                 "stacksave",
                                 "stmatrix",
                                 "sub",
                                 "subc",
                                 "suld",
                                 "suq",
                                 "sured",
                                 "sust",
                                 "szext",
                                 "tanh",
                                 "tcgen05",
                                 "tensormap",
                                 "testp",
                                 "tex",
                                 "tld4",
                                 "trap",
                                 "txq",
                                 "vote",
                                 "wgmma",
                                 "wmma",
                                 "xor"};

Error unknown_word(const std::string &section, const char *what, const std::string &word,
                   const std::vector<std::string> &known) {
  std::string near = near_name(word, known);
  return {"SEC(\"" + section + "\"): unknown " + what + " '" + word + "'" +
          (near.empty() ? "" : "; did you mean '" + near + "'?")};
}

Result<std::vector<std::string>> split_mnemonic(const std::string &section, const std::string &event) {
  std::vector<std::string> parts{""};
  for (char c : event) {
    bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
    if (c == '.')
      parts.emplace_back();
    else if (word)
      parts.back() += c;
    else
      return Error{"SEC(\"" + section + "\"): event '" + event +
                   "' is not entry, exit or a PTX instruction: unexpected '" + std::string(1, c) + "'"};
  }
  for (const std::string &part : parts)
    if (part.empty()) return Error{"SEC(\"" + section + "\"): event '" + event + "' has an empty part"};
  std::vector<std::string> known(kOpcodes.begin(), kOpcodes.end());
  if (std::find(known.begin(), known.end(), parts[0]) == known.end()) {
    known.insert(known.end(), {"entry", "exit"});
    return unknown_word(section, "event", parts[0], known);
  }
  return parts;
}

Result<Event> legacy_event(const std::string &section, EventKind kind, const std::string &kernel,
                           std::string *note) {
  if (kernel.empty()) return Error{"SEC(\"" + section + "\"): no kernel name after the slash"};
  Event event;
  event.kind = kind;
  event.kernel = kernel;
  event.section = section;
  if (note)
    *note = "SEC(\"" + section + "\") is a legacy spelling; write SEC(\"gpu/" +
            (kind == EventKind::entry ? "entry/" : "exit/") + kernel + "\")";
  return event;
}

bool is_host_event(const std::string &first) {
  return first == "host" || first == "uprobe" || first == "uretprobe";
}

}  // namespace

Result<Event> parse_section(const std::string &section, std::string *note) {
  size_t slash = section.find('/');
  std::string first = section.substr(0, slash);
  std::string rest = slash == std::string::npos ? "" : section.substr(slash + 1);

  if (is_host_event(first))
    return Error{"SEC(\"" + section +
                 "\"): host events are not supported yet; use gpu[.warp|.block|.grid]/EVENT/KERNEL"};
  if (first == "kprobe") return legacy_event(section, EventKind::entry, rest, note);
  if (first == "kretprobe") return legacy_event(section, EventKind::exit, rest, note);

  Event event;
  event.section = section;
  std::vector<std::string> known;
  bool found = false;
  for (const ScopeWord &row : kScopes) {
    known.emplace_back(row.word);
    if (first == row.word) event.scope = row.scope, found = true;
  }
  if (!found && first.starts_with("gpu")) return unknown_word(section, "scope", first, known);
  if (!found)
    return Error{"SEC(\"" + section +
                 "\") is not a probe; write SEC(\"gpu[.warp|.block|.grid]/EVENT/KERNEL\")"};
  if (rest.empty())
    return Error{"SEC(\"" + section + "\"): no event; write SEC(\"" + first + "/entry/KERNEL\")"};

  size_t second = rest.find('/');
  std::string word = rest.substr(0, second);
  if (second != std::string::npos) {
    event.kernel = rest.substr(second + 1);
    if (event.kernel.empty()) return Error{"SEC(\"" + section + "\"): no kernel name after the second slash"};
  }
  if (word == "entry") return event;
  if (word == "exit") {
    event.kind = EventKind::exit;
    return event;
  }
  if (word.starts_with("func:"))
    return Error{"SEC(\"" + section + "\"): device function events are not supported yet"};
  event.kind = EventKind::insn;
  TRY(auto parts, split_mnemonic(section, word));
  event.mnemonic = std::move(parts);
  return event;
}

}  // namespace egpu::bpf
