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

std::string to_text(const session::Measured &measured) {
  struct Row {
    const char *name;
    int32_t session::Footprint::*field;
  };
  static constexpr Row kRows[] = {{"registers", &session::Footprint::registers},
                                  {"local bytes", &session::Footprint::local_bytes},
                                  {"shared bytes", &session::Footprint::shared_bytes},
                                  {"blocks per SM", &session::Footprint::blocks_per_sm}};
  auto number = [](int32_t n) { return n < 0 ? std::string("?") : std::to_string(n); };
  std::string text;
  for (const Row &row : kRows)
    text += (text.empty() ? "" : ", ") + (row.name + (" " + number(measured.original.*row.field))) + " -> " +
            number(measured.patched.*row.field);
  return text;
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
        if (outcome.footprint) text += "; " + to_text(*outcome.footprint);
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
