// Kernel names: demangled for people, matched against globs, compared for hints.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "lib/loader/ptx/match.h"
#include "lib/loader/ptx/patch.h"

namespace egpu::ptx {
namespace {

bool is_identifier(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

// `*` any text, `?` one character; everything else, brackets too, stands for itself. Names
// hold brackets ("int (*) [4]"), so character classes would get in the way.
bool glob_matches(std::string_view glob, std::string_view text) {
  size_t g = 0, t = 0, star = std::string_view::npos, retry = 0;
  while (t < text.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      retry = t;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t])) {
      ++g;
      ++t;
    } else if (star != std::string_view::npos) {
      g = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

// Blanks are kept only between two words, so "f<float,4>" equals "f<float, 4>".
std::string without_blanks(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != ' ') {
      out += text[i];
    } else if (!out.empty() && is_identifier(out.back()) && i + 1 < text.size() &&
               is_identifier(text[i + 1])) {
      out += ' ';
    }
  }
  return out;
}

// Start of the group that ends at the end of the text ("f<a>(b)" gives the place of "(");
// npos if the text does not end in `close`.
size_t last_group(std::string_view text, char open, char close) {
  if (text.empty() || text.back() != close) return std::string_view::npos;
  int depth = 0;
  for (size_t i = text.size(); i-- > 0;) {
    if (text[i] == close) ++depth;
    if (text[i] == open && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::string without_template_arguments(const std::string &name) {
  size_t at = last_group(name, '<', '>');
  return at == std::string::npos || at == 0 ? name : name.substr(0, at);
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string base_name(const std::string &name) {
  std::string plain = without_template_arguments(name);
  size_t colons = plain.rfind("::");
  return colons == std::string::npos ? plain : plain.substr(colons + 2);
}

}  // namespace

std::string demangle(const std::string &mangled) {
  if (mangled.substr(0, 2) != "_Z") return mangled;
  int status = 0;
  std::unique_ptr<char, void (*)(void *)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || !text) return mangled;
  std::string name = text.get();
  // Function templates come with their return type; a kernel's is void.
  return name.substr(0, 5) == "void " ? name.substr(5) : name;
}

std::string demangle_short(const std::string &mangled) {
  std::string name = demangle(mangled);
  if (name == mangled) return name;
  size_t at = last_group(name, '(', ')');
  return at == std::string::npos || at == 0 ? name : name.substr(0, at);
}

bool kernel_matches(const std::string &glob, const std::string &mangled) {
  if (glob.substr(0, 2) == "_Z") return glob_matches(glob, mangled);
  if (glob.find('(') != std::string::npos)
    return glob_matches(without_blanks(glob), without_blanks(demangle(mangled)));
  std::string name = demangle_short(mangled);
  if (glob_matches(without_blanks(glob), without_blanks(name))) return true;
  // A glob that names no template arguments means every instance.
  return glob.find('<') == std::string::npos &&
         glob_matches(without_blanks(glob), without_blanks(without_template_arguments(name)));
}

std::vector<std::string> near_names(const std::string &glob, const std::vector<std::string> &mangled,
                                    size_t limit) {
  struct Scored {
    size_t distance;
    const std::string *name;
  };
  std::vector<Scored> scored;
  bool is_mangled = glob.substr(0, 2) == "_Z";
  std::string wanted = glob;
  if (!is_mangled) {
    wanted = wanted.substr(0, std::min(wanted.find('('), wanted.size()));
    wanted.erase(std::remove(wanted.begin(), wanted.end(), '*'), wanted.end());
  }
  for (const std::string &name : mangled) {
    size_t best = edit_distance(wanted, name);
    if (!is_mangled) {
      std::string shown = demangle_short(name);
      for (const std::string &form : {shown, without_template_arguments(shown), base_name(shown)})
        best = std::min(best, edit_distance(wanted, form));
      // A part of the name is as near as a small slip.
      if (wanted.size() >= 3 && shown.find(wanted) != std::string::npos) best = std::min<size_t>(best, 1);
    }
    if (best <= std::max<size_t>(2, wanted.size() / 3)) scored.push_back({best, &name});
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored &a, const Scored &b) { return a.distance < b.distance; });
  std::vector<std::string> out;
  for (const Scored &s : scored) {
    if (out.size() == limit) break;
    if (std::find(out.begin(), out.end(), *s.name) == out.end()) out.push_back(*s.name);
  }
  return out;
}

}  // namespace egpu::ptx
