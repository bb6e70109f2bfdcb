#include "lib/loader/ptx/splice.h"

#include <algorithm>

#include "lib/loader/ptx/function.h"
#include "lib/loader/ptx/symbols.h"

namespace egpu::ptx {
namespace {

std::string number(uint64_t n) { return std::to_string(n); }

std::string cookie_register(Scope scope, int object) {
  static constexpr const char *kNames[] = {"thread", "warp", "block", "grid"};
  return std::string("egpu_cookie_") + kNames[static_cast<int>(scope)] + "_" + std::to_string(object);
}

// The register of a whole kernel that holds what the symbol is for one object.
std::string shard_register(int object, const std::string &symbol) {
  return "egpu_own_" + number(static_cast<uint64_t>(object)) + "_" + symbol;
}

// egpu_n = threads of the block, egpu_t = this thread's number in it. CUDA fills warps in
// this order, so egpu_t / 32 is the warp (%warpid may change while a kernel runs).
constexpr const char *kThreadNumber =
    "\t.reg .b32 egpu_n, egpu_t, egpu_a, egpu_b;\n"
    "\tmov.u32 egpu_a, %ntid.x;\n"
    "\tmov.u32 egpu_b, %ntid.y;\n"
    "\tmov.u32 egpu_t, %tid.z;\n"
    "\tmov.u32 egpu_n, %tid.y;\n"
    "\tmad.lo.u32 egpu_t, egpu_t, egpu_b, egpu_n;\n"
    "\tmov.u32 egpu_n, %tid.x;\n"
    "\tmad.lo.u32 egpu_t, egpu_t, egpu_a, egpu_n;\n"
    "\tmul.lo.u32 egpu_n, egpu_a, egpu_b;\n"
    "\tmov.u32 egpu_a, %ntid.z;\n"
    "\tmul.lo.u32 egpu_n, egpu_n, egpu_a;\n";

// egpu_l = lanes of this thread's warp that exist, 1 to 32.
constexpr const char *kWarpSize =
    "\t.reg .b32 egpu_l;\n"
    "\tand.b32 egpu_l, egpu_t, 0xffffffe0;\n"
    "\tsub.u32 egpu_l, egpu_n, egpu_l;\n"
    "\tmin.u32 egpu_l, egpu_l, 32;\n";

// egpu_leader: the lowest of the lanes that are here together; egpu_count: how many they are.
// The mask is taken anew: the bodies of the thread scope may have split the lanes, and none may
// be counted before its own body has run.
constexpr const char *kLeader =
    "\t.reg .pred egpu_leader;\n"
    "\t.reg .b32 egpu_group, egpu_count, egpu_left;\n"
    "\tactivemask.b32 egpu_group;\n"
    "\tmov.u32 egpu_count, %lanemask_lt;\n"
    "\tand.b32 egpu_count, egpu_count, egpu_group;\n"
    "\tsetp.eq.u32 egpu_leader, egpu_count, 0;\n"
    "\tpopc.b32 egpu_count, egpu_group;\n"
    "\tmov.u32 egpu_left, 0;\n";

bool reads(const Probe &p, const char *symbol) { return p.symbols.count(symbol) != 0; }

}  // namespace

std::string Splicer::shared(uint32_t offset) const { return "[" + s_.area + "+" + number(offset) + "]"; }

// The maps' copies that sites of instructions use, found once.
Result<std::string> Splicer::shards() const {
  std::string out;
  for (const auto &[object, symbol] : s_.shards) {
    auto user = std::find_if(probes_.begin(), probes_.end(), [&, o = object, &name = symbol](const Probe &p) {
      return p.object == o && p.symbols.count(name) != 0;
    });
    TRY(std::string text, define_constant(*user, symbol, shard_register(object, symbol), bindings_));
    out += text;
  }
  return out;
}

// What a kernel does first: cookies and counts start at zero, parameters are saved.
Result<std::string> Splicer::preparations() const {
  TRY(std::string out, shards());
  for (const auto &[key, cookie] : s_.cookies) {
    if (cookie.place != CookiePlace::reg) continue;
    std::string name = cookie_register(key.first, key.second);
    out += "\t.reg .b64 " + name + ";\n\tmov.b64 " + name + ", 0;\n";
  }
  if (s_.bytes == 0) return out;
  out += "\t{\n";
  out += kThreadNumber;
  std::string one, warp, thread;
  auto zero = [](const std::string &size, const std::string &at) {
    return "\tst.shared." + size + " " + at + ", 0;\n";
  };
  for (const auto &[key, cookie] : s_.cookies) {
    if (cookie.place != CookiePlace::shared) continue;
    if (key.first == Scope::block) one += zero("u64", shared(cookie.offset));
    if (key.first == Scope::warp) warp += zero("u64", "[egpu_w8+" + number(cookie.offset) + "]");
    if (key.first == Scope::thread) thread += zero("u64", "[egpu_t8+" + number(cookie.offset) + "]");
  }
  if (s_.block_count != kNowhere) one += zero("u32", shared(s_.block_count));
  if (s_.warp_counts != kNowhere) warp += zero("u32", "[egpu_w4+" + number(s_.warp_counts) + "]");
  auto save = [&](uint32_t offset) { one += "\tst.shared.u64 " + shared(offset) + ", egpu_v;\n"; };
  for (auto [from, offset] :
       {std::pair(kLaunchNsParameter, s_.saved_launch_ns), std::pair(kLaunchSlotParameter, s_.saved_slot)}) {
    if (offset == kNowhere) continue;
    one += "\tld.param.u64 egpu_v, [" + std::string(from) + "];\n";
    save(offset);
  }
  for (auto [argument_index, offset] : s_.saved_arguments) {
    std::string name = "egpu_arg_" + number(argument_index);
    one += "\t{\n" + argument(argument_index, true) + "\tmov.b64 egpu_v, " + name + ";\n";
    save(offset);
    one += "\t}\n";
  }
  std::string label = "egpu_ready_" + s_.area;
  if (!thread.empty()) {
    out += "\t.reg .b32 egpu_t8;\n\tmov.u32 egpu_t8, " + s_.area +
           ";\n\tmad.lo.u32 egpu_t8, egpu_t, 8, egpu_t8;\n";
    out += thread;
  }
  if (!warp.empty()) {
    out += kWarpSize;
    out +=
        "\t.reg .pred egpu_p;\n"
        "\t.reg .b32 egpu_w4, egpu_w8;\n"
        "\tand.b32 egpu_a, egpu_t, 31;\n"
        "\tsetp.ne.u32 egpu_p, egpu_a, 0;\n"
        "\t@egpu_p bra " +
        label +
        "_warp;\n"
        "\tshr.u32 egpu_b, egpu_t, 5;\n"
        "\tmov.u32 egpu_a, " +
        s_.area +
        ";\n"
        "\tmad.lo.u32 egpu_w4, egpu_b, 4, egpu_a;\n"
        "\tmad.lo.u32 egpu_w8, egpu_b, 8, egpu_a;\n" +
        warp + label + "_warp:\n";
  }
  if (!one.empty()) {
    out +=
        "\t.reg .pred egpu_q;\n"
        "\t.reg .b64 egpu_v;\n"
        "\tsetp.ne.u32 egpu_q, egpu_t, 0;\n"
        "\t@egpu_q bra " +
        label + ";\n" + one + label + ":\n";
  }
  return out + "\t}\n";
}

// After the entry programs: what one thread has put into shared memory, cookies included, is there
// for all before any of them can leave. The barrier orders memory too (PTX ISA 9.0, 9.7.13.1), so
// that exits need no fence, which would wait for the kernel's own stores.
std::string Splicer::rendezvous() const {
  if (s_.initialised_by_one) return "\tbarrier.sync 0;\n";
  if (!s_.has_warp_part()) return "";
  return std::string("\t{\n") + kThreadNumber + kWarpSize +
         "\tmov.u32 egpu_a, 1;\n"
         "\tshl.b32 egpu_a, egpu_a, egpu_l;\n"  // 32 shifts everything out: the mask of a full warp
         "\tsub.u32 egpu_a, egpu_a, 1;\n"
         "\tbar.warp.sync egpu_a;\n"
         "\t}\n";
}

Result<std::string> Splicer::text(const FunctionUse &use, const Point &point) const {
  const Function &f = a_.module.functions[use.function];
  const Statement *statement = point.statement < f.body.size() ? &f.body[point.statement] : nullptr;
  Place place{f.entry, point, statement};
  std::string out;
  if (point.kind == EventKind::entry) {
    TRY(out, preparations());
  }
  std::string past;
  bool conditional = point.kind != EventKind::entry && !point.is_branch && statement != nullptr &&
                     !statement->predicate.empty();
  if (conditional) {
    past = "egpu_past_" + number(point.sites.front());
    out += "\t@" + std::string(statement->negated ? "" : "!") + std::string(statement->predicate) + " bra " +
           past + ";\n";
  }
  if (point.kind == EventKind::exit) {
    TRY(std::string sites, exit_sites(place));
    out += sites;
  } else {
    for (size_t i = 0; i < point.probes.size(); ++i) {
      TRY(std::string one, site(place, i));
      out += one;
    }
  }
  if (conditional) out += past + ":\n";
  if (point.kind == EventKind::entry) out += rendezvous();
  return out;
}

// All sites of one exit: the counts, each once, and the bodies, inner scopes first.
Result<std::string> Splicer::exit_sites(const Place &place) const {
  std::string end = "egpu_exit_" + number(place.point.sites.front());
  std::string out = "\t{\n\t.reg .b32 egpu_active_mask;\n\tactivemask.b32 egpu_active_mask;\n";
  Scope counted = Scope::thread;
  bool reset_slot = false;
  for (size_t i = 0; i < place.point.probes.size(); ++i) {
    Scope scope = probes_[static_cast<size_t>(place.point.probes[i])].event.scope;
    if (scope != Scope::thread && counted == Scope::thread) {
      out += kThreadNumber;
      out += kLeader;
    }
    if (scope == Scope::warp && counted < Scope::warp) {
      out += kWarpSize;
      out +=
          "\t.reg .pred egpu_last_of_warp;\n"
          "\tshr.u32 egpu_a, egpu_t, 5;\n"
          "\tmov.u32 egpu_b, " +
          s_.area +
          ";\n"
          "\tmad.lo.u32 egpu_a, egpu_a, 4, egpu_b;\n"
          "\t@egpu_leader atom.shared.add.u32 egpu_left, [egpu_a+" +
          number(s_.warp_counts) +
          "], egpu_count;\n"
          "\tadd.u32 egpu_left, egpu_left, egpu_count;\n"
          "\tsetp.eq.and.u32 egpu_last_of_warp, egpu_left, egpu_l, egpu_leader;\n";
    }
    if (scope >= Scope::block && counted < Scope::block) {
      out +=
          "\t.reg .pred egpu_last_of_block;\n"
          "\t@egpu_leader atom.shared.add.u32 egpu_left, " +
          shared(s_.block_count) +
          ", egpu_count;\n"
          "\tadd.u32 egpu_left, egpu_left, egpu_count;\n"
          "\tsetp.eq.and.u32 egpu_last_of_block, egpu_left, egpu_n, egpu_leader;\n"
          "\t@!egpu_last_of_block bra " +
          end + ";\n";
    }
    if (scope == Scope::grid && counted < Scope::grid) {
      out +=
          "\t.reg .pred egpu_last_of_grid;\n"
          "\t.reg .b64 egpu_slot;\n" +
          slot(place.in_entry) +
          "\tmov.u32 egpu_n, %nctaid.x;\n"
          "\tmov.u32 egpu_a, %nctaid.y;\n"
          "\tmov.u32 egpu_b, %nctaid.z;\n"
          "\tmul.lo.u32 egpu_n, egpu_n, egpu_a;\n"
          "\tmul.lo.u32 egpu_n, egpu_n, egpu_b;\n"
          "\tfence.acq_rel.gpu;\n"
          "\tatom.global.add.u32 egpu_left, [egpu_slot], 1;\n"
          "\tadd.u32 egpu_left, egpu_left, 1;\n"
          "\tsetp.eq.u32 egpu_last_of_grid, egpu_left, egpu_n;\n"
          "\t@!egpu_last_of_grid bra " +
          end +
          ";\n"
          "\tfence.acq_rel.gpu;\n";
      reset_slot = true;
    }
    counted = std::max(counted, scope);
    TRY(std::string one, site(place, i));
    out += one;
  }
  if (reset_slot) out += "\tst.global.u32 [egpu_slot], 0;\n\tst.global.u64 [egpu_slot+8], 0;\n";
  if (counted >= Scope::block) out += end + ":\n";
  return out + "\t}\n";
}

Result<std::string> Splicer::site(const Place &place, size_t index) const {
  int which = place.point.probes[index];
  const Probe &p = probes_[static_cast<size_t>(which)];
  uint32_t id = place.point.sites[index];
  std::string end = "egpu_end_" + number(id);
  std::string out = "\t{ // egpu site " + number(id) + "\n";
  bool own_mask = place.point.kind != EventKind::exit;
  bool lowest = place.point.kind == EventKind::insn && p.event.scope == Scope::warp;
  if (own_mask && (lowest || reads(p, "egpu_active_mask") || reads(p, "egpu_taken_mask")))
    out += "\t.reg .b32 egpu_active_mask;\n\tactivemask.b32 egpu_active_mask;\n";
  if (reads(p, "egpu_taken_mask")) {
    if (!place.point.is_branch) return Error{p.name + ": egpu_taken_mask has no value at this event"};
    out += "\t.reg .b32 egpu_taken_mask;\n";
    if (place.statement->predicate.empty())
      out += "\tmov.b32 egpu_taken_mask, egpu_active_mask;\n";
    else
      out += "\tvote.sync.ballot.b32 egpu_taken_mask, " + std::string(place.statement->negated ? "!" : "") +
             std::string(place.statement->predicate) + ", egpu_active_mask;\n";
  }
  std::string elect = election(p, place, end);
  out += elect;
  TRY(std::string free_symbols, symbols(which, place, id));
  out += free_symbols;
  std::string body = s_.called.count(which) != 0
                         ? function_call(p, static_cast<size_t>(which))
                         : bodies_[static_cast<size_t>(which)].with_labels("egpu_label_" + number(id)) + "\n";
  out += "\t{\n" + body + "\t}\n";
  if (reads(p, "egpu_cookie") && p.writes_cookie) out += cookie(p, place.in_entry, true);
  if (!elect.empty()) out += end + ":\n";
  return out + "\t}\n";
}

std::string Splicer::election(const Probe &p, const Place &place, const std::string &end) const {
  std::string test;
  if (p.event.scope == Scope::thread) return "";
  if (place.point.kind == EventKind::exit) {
    // The count has sent away everyone but the last thread of the block or grid.
    if (p.event.scope != Scope::warp) return "";
    return "\t@!egpu_last_of_warp bra " + end + ";\n";
  }
  if (p.event.scope == Scope::warp) {
    test = place.point.kind == EventKind::entry
               ? "\tmov.u32 egpu_e, %laneid;\n"
               : "\tmov.u32 egpu_e, %lanemask_lt;\n\tand.b32 egpu_e, egpu_e, egpu_active_mask;\n";
  } else {
    test = "\tmov.u32 egpu_e, %tid.x;\n";
    for (const char *more : {"%tid.y", "%tid.z", "%ctaid.x", "%ctaid.y", "%ctaid.z"}) {
      if (more[1] == 'c' && p.event.scope != Scope::grid) break;
      test += std::string("\tmov.u32 egpu_f, ") + more + ";\n\tor.b32 egpu_e, egpu_e, egpu_f;\n";
    }
  }
  return "\t.reg .pred egpu_skip;\n\t.reg .b32 egpu_e, egpu_f;\n" + test +
         "\tsetp.ne.u32 egpu_skip, egpu_e, 0;\n\t@egpu_skip bra " + end + ";\n";
}

Result<std::string> Splicer::symbols(int which, const Place &place, uint32_t site_id) const {
  const Probe &p = probes_[static_cast<size_t>(which)];
  std::string out;
  auto define = [&](const std::string &name, const std::string &value) {
    std::string type = symbol_type(name);
    out += "\t.reg ." + type + " " + name + ";\n\tmov." + type + " " + name + ", " + value + ";\n";
  };
  bool memory = place.point.kind == EventKind::insn && !place.point.is_branch;
  for (const std::string &symbol : p.symbols) {
    uint32_t n = 0;
    if (symbol == "egpu_active_mask" || symbol == "egpu_taken_mask") continue;
    if (is_constant(symbol) && s_.called.count(which) != 0) continue;  // the function sets it
    if (symbol == "egpu_site") {
      define(symbol, number(site_id));
    } else if (symbol == "egpu_kernel") {
      auto id = bindings_.kernel_ids.find(k_.plan.name);
      if (id == bindings_.kernel_ids.end()) return Error{"kernel " + k_.plan.name + " has no id"};
      define(symbol, number(id->second));
    } else if (symbol == "egpu_launch_ns") {
      std::string from = place.in_entry
                             ? "ld.param.u64 egpu_launch_ns, [" + std::string(kLaunchNsParameter) + "]"
                             : "ld.shared.u64 egpu_launch_ns, " + shared(s_.saved_launch_ns);
      out += "\t.reg .b64 egpu_launch_ns;\n\t" + from + ";\n";
    } else if (argument_number(symbol, &n)) {
      out += argument(n, place.in_entry);
    } else if (symbol == "egpu_addr" && memory) {
      out += address(place.point.access);
    } else if (symbol == "egpu_size" && memory) {
      define(symbol, number(place.point.access.bytes));
    } else if (symbol == "egpu_cookie") {
      out += cookie(p, place.in_entry, false);
    } else if (place.in_entry && place.point.kind == EventKind::insn &&
               s_.shards.count({p.object, symbol}) != 0) {
      define(symbol, shard_register(p.object, symbol));
    } else {
      TRY(std::string text, define_constant(p, symbol, symbol, bindings_));
      out += text;
    }
  }
  return out;
}

// Parameter `index`, zero-extended; of a struct its first eight bytes.
std::string Splicer::argument(uint32_t index, bool in_entry) const {
  const Function &entry = a_.module.functions[k_.function];
  std::string name = "egpu_arg_" + number(index);
  std::string out = "\t.reg .b64 " + name + ";\n";
  if (index >= entry.parameters.size()) return out + "\tmov.b64 " + name + ", 0;\n";
  if (!in_entry) return out + "\tld.shared.u64 " + name + ", " + shared(s_.saved_arguments.at(index)) + ";\n";
  const Parameter &parameter = entry.parameters[index];
  uint32_t bytes = std::min(parameter.bytes, 8u);
  for (uint32_t at = 0; at < bytes;) {
    uint32_t piece = std::min(parameter.alignment, 8u);
    while (piece > 1 && (at % piece != 0 || at + piece > bytes)) piece /= 2;
    std::string source = "[" + std::string(parameter.name) + "+" + number(at) + "]";
    std::string load = "ld.param.u" + number(8 * piece);
    if (at == 0) {
      out += "\t" + load + " " + name + ", " + source + ";\n";
    } else {
      out += "\t{\n\t.reg .b64 egpu_x;\n\t" + load + " egpu_x, " + source + ";\n\tshl.b64 egpu_x, egpu_x, " +
             number(8 * at) + ";\n\tor.b64 " + name + ", " + name + ", egpu_x;\n\t}\n";
    }
    at += piece;
  }
  if (bytes == 0) out += "\tmov.b64 " + name + ", 0;\n";
  return out;
}

// The generic address of an access. Global addresses are generic ones; constants are read
// through the original's global address (patch.cc).
std::string Splicer::address(const Access &access) const {
  std::string out = "\t.reg .b64 egpu_addr;\n";
  std::string base(access.base), offset = std::to_string(access.offset);
  if (base.empty()) {
    out += "\tmov.b64 egpu_addr, " + offset + ";\n";
  } else if (access.base_is_32_bit) {
    out += "\t{\n\t.reg .b32 egpu_x;\n\tadd.s32 egpu_x, " + base + ", " + offset +
           ";\n\tcvt.u64.u32 egpu_addr, egpu_x;\n\t}\n";
  } else {
    out += "\tmov.u64 egpu_addr, " + base + ";\n";
    if (access.offset != 0) out += "\tadd.s64 egpu_addr, egpu_addr, " + offset + ";\n";
  }
  if (access.space == Space::shared) out += "\tcvta.shared.u64 egpu_addr, egpu_addr;\n";
  if (access.space == Space::local) out += "\tcvta.local.u64 egpu_addr, egpu_addr;\n";
  return out;
}

std::string Splicer::slot(bool in_entry) const {
  if (in_entry) return "\tld.param.u64 egpu_slot, [" + std::string(kLaunchSlotParameter) + "];\n";
  return "\tld.shared.u64 egpu_slot, " + shared(s_.saved_slot) + ";\n";
}

// Fills egpu_cookie before a body, or puts it back after it.
std::string Splicer::cookie(const Probe &p, bool in_entry, bool store) const {
  const Cookie &cookie = s_.cookies.at({p.event.scope, p.object});
  std::string out = store ? "" : "\t.reg .b64 egpu_cookie;\n";
  if (cookie.place == CookiePlace::reg) {
    std::string name = cookie_register(p.event.scope, p.object);
    return out +
           (store ? "\tmov.b64 " + name + ", egpu_cookie;\n" : "\tmov.b64 egpu_cookie, " + name + ";\n");
  }
  auto move = [&](const std::string &space, const std::string &at) {
    return store ? "\tst." + space + ".u64 " + at + ", egpu_cookie;\n"
                 : "\tld." + space + ".u64 egpu_cookie, " + at + ";\n";
  };
  if (cookie.place == CookiePlace::slot)
    return out + "\t{\n\t.reg .b64 egpu_slot;\n" + slot(in_entry) + move("global", "[egpu_slot+8]") + "\t}\n";
  if (p.event.scope == Scope::block) return out + move("shared", shared(cookie.offset));
  out += "\t{\n";
  out += kThreadNumber;
  if (p.event.scope == Scope::warp) out += "\tshr.u32 egpu_t, egpu_t, 5;\n";
  out += "\tmov.u32 egpu_a, " + s_.area + ";\n\tmad.lo.u32 egpu_a, egpu_t, 8, egpu_a;\n";
  return out + move("shared", "[egpu_a+" + number(cookie.offset) + "]") + "\t}\n";
}

}  // namespace egpu::ptx
