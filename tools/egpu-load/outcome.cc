#include "tools/egpu-load/outcome.h"

#include "lib/loader/ptx/patch.h"

namespace egpu::load {

bool Outcomes::any_probed() const {
  for (const auto &[name, outcome] : by_name_)
    if (outcome.kind == Outcome::probed) return true;
  return false;
}

std::vector<std::string> Outcomes::names() const {
  std::vector<std::string> names;
  for (const auto &[mangled, outcome] : by_name_) names.push_back(ptx::demangle_short(mangled));
  return names;
}

std::string to_text(const Outcomes &outcomes) {
  std::string text;
  for (const auto &[mangled, outcome] : outcomes.all()) {
    text += ptx::demangle_short(mangled);
    switch (outcome.kind) {
      case Outcome::pending:
        text += ": seen, not decided when the session ended";
        break;
      case Outcome::probed:
        text += ": probed, " + std::to_string(outcome.site_count) +
                (outcome.site_count == 1 ? " site" : " sites");
        break;
      case Outcome::not_matched:
        text += ": not matched";
        break;
      case Outcome::refused:
        text += ": refused: " + outcome.reason;
        break;
    }
    text += '\n';
  }
  return text;
}

}  // namespace egpu::load
