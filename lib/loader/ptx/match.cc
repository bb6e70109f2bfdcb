#include "lib/loader/ptx/match.h"

#include <algorithm>

#include "lib/loader/ptx/patch.h"

namespace egpu::ptx {
namespace {

bool part_matches(std::string_view wanted, std::string_view part) {
  return part == wanted || (part.size() > wanted.size() + 2 && part.substr(0, wanted.size()) == wanted &&
                            part.substr(wanted.size(), 2) == "::");
}

// First parts of the events that the patcher can place.
constexpr std::string_view kSupported[] = {"ld", "st", "atom", "red", "bra"};

std::string joined(const std::vector<std::string> &parts) {
  std::string out;
  for (const std::string &p : parts) out += (out.empty() ? "" : ".") + p;
  return out;
}

}  // namespace

std::vector<std::string_view> dotted_parts(std::string_view mnemonic) {
  std::vector<std::string_view> parts;
  while (!mnemonic.empty()) {
    size_t dot = std::min(mnemonic.find('.'), mnemonic.size());
    parts.push_back(mnemonic.substr(0, dot));
    mnemonic.remove_prefix(std::min(dot + 1, mnemonic.size()));
  }
  return parts;
}

bool statement_matches(const Event &event, std::string_view mnemonic) {
  if (event.kind != EventKind::insn || event.mnemonic.empty()) return false;
  std::vector<std::string_view> parts = dotted_parts(mnemonic);
  if (parts.empty() || parts[0] != event.mnemonic[0]) return false;
  for (std::string_view part : parts)
    if (part_matches("param", part)) return false;
  return std::all_of(event.mnemonic.begin() + 1, event.mnemonic.end(), [&](const std::string &wanted) {
    return std::any_of(parts.begin() + 1, parts.end(),
                       [&](std::string_view part) { return part_matches(wanted, part); });
  });
}

std::string unsupported(const Event &event) {
  if (event.kind != EventKind::insn) return "";
  if (event.scope == Scope::grid) return "grid scope has only entry and exit";
  std::string name = joined(event.mnemonic);
  bool known = !event.mnemonic.empty() && std::find(std::begin(kSupported), std::end(kSupported),
                                                    event.mnemonic[0]) != std::end(kSupported);
  if (!known) return "event " + name + " is not supported yet";
  if (std::find(event.mnemonic.begin(), event.mnemonic.end(), "param") != event.mnemonic.end())
    return "event " + name + ": .param is not memory";
  return "";
}

}  // namespace egpu::ptx
