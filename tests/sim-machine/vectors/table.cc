#include "tests/sim-machine/vectors/table.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/sim-machine/vectors/hash.h"

namespace egpu::vectors {
namespace {

constexpr size_t kWarp = 32;
constexpr size_t kMostTuples = 96;  // of a row; a larger product of lists is sampled

constexpr struct {
  const char *name;
  unsigned bits;
  const char *list;  // of inputs, unless the row names one
} kTypes[] = {
    {"pred", 1, "pred"}, {"b16", 16, "i16"},   {"u16", 16, "i16"},     {"s16", 16, "i16"},
    {"f16", 16, "f16"},  {"bf16", 16, "bf16"}, {"b32", 32, "i32"},     {"u32", 32, "i32"},
    {"s32", 32, "i32"},  {"f32", 32, "f32"},   {"f16x2", 32, "f16x2"}, {"bf16x2", 32, "bf16x2"},
    {"b64", 64, "i64"},  {"u64", 64, "i64"},   {"s64", 64, "i64"},     {"f64", 64, "f64"},
};

using Lists = std::map<std::string, std::vector<uint64_t>>;

std::vector<std::string> split(const std::string &text, const std::string &separator) {
  std::vector<std::string> parts;
  size_t at = 0, found;
  while ((found = text.find(separator, at)) != std::string::npos) {
    parts.push_back(text.substr(at, found - at));
    at = found + separator.size();
  }
  parts.push_back(text.substr(at));
  return parts;
}

std::vector<std::string> words(const std::string &text) {
  std::istringstream in(text);
  std::vector<std::string> found;
  for (std::string word; in >> word;) found.push_back(word);
  return found;
}

// A line without its groups: one line per choice.
struct Choice {
  std::string line;
  std::vector<std::string> chosen;
};
std::vector<Choice> expand(const std::string &line) {
  std::vector<Choice> done, open = {{line, {}}};
  while (!open.empty()) {
    Choice choice = open.back();
    open.pop_back();
    const size_t begin = choice.line.find('<'), end = choice.line.find('>', begin);
    if (end == std::string::npos) {
      for (size_t i = 0; i < choice.chosen.size(); ++i)
        for (size_t at; (at = choice.line.find("$" + std::to_string(i + 1))) != std::string::npos;)
          choice.line.replace(at, 2, choice.chosen[i]);
      done.push_back(choice);
      continue;
    }
    std::vector<std::string> alternatives = split(choice.line.substr(begin + 1, end - begin - 1), "|");
    std::reverse(alternatives.begin(), alternatives.end());  // the first is taken from the stack first
    for (const std::string &alternative : alternatives) {
      Choice next = choice;
      next.line.replace(begin, end + 1 - begin, alternative);
      next.chosen.push_back(alternative);
      open.push_back(next);
    }
  }
  return done;
}

// All combinations of the lists' values, or kMostTuples of them, which depend on the text alone.
void combine(const std::vector<const std::vector<uint64_t> *> &lists, Row *row) {
  size_t product = 1;
  for (const auto *list : lists) product *= list->size();
  const size_t tuples = std::min(product, kMostTuples), threads = (tuples + kWarp - 1) / kWarp * kWarp;
  uint64_t state = hash(row->text);
  row->inputs.assign(lists.size(), {});
  for (size_t thread = 0; thread < threads; ++thread) {
    uint64_t index = thread % product;
    if (product > kMostTuples) index = next_random(&state) % product;
    for (size_t i = 0; i < lists.size(); ++i) {
      row->inputs[i].push_back((*lists[i])[index % lists[i]->size()]);
      index /= lists[i]->size();
    }
  }
}

Result<Type> read_type(const std::string &word, std::string *list) {
  const std::string name = word.substr(0, word.find(':'));
  for (const auto &type : kTypes)
    if (name == type.name) {
      *list = name == word ? type.list : word.substr(name.size() + 1);
      return Type{name, type.bits};
    }
  return Error{"unknown type '" + word + "'"};
}

// "2^-22.9" or "3"
double number(const std::string &text) {
  return text.starts_with("2^") ? std::exp2(std::atof(text.c_str() + 2)) : std::atof(text.c_str());
}

Result<Ok> read_exactness(const std::string &text, Row *row) {
  const std::vector<std::string> all = words(text);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i] == "alone") {
      row->is_alone = true;
      continue;
    }
    if (all[i] == "nan") {
      row->bounds.push_back({Bound::any_nan, 0});
      continue;
    }
    const std::string kind = all[i];
    if (++i == all.size() || (kind != "rel" && kind != "abs" && kind != "ulp"))
      return Error{"no exactness: '" + text + "'"};
    row->bounds.push_back({kind == "rel"   ? Bound::relative
                           : kind == "abs" ? Bound::absolute
                                           : Bound::ulps,
                           number(all[i])});
  }
  return Ok{};
}

Result<Row> read_row(const std::string &line, const Lists &lists) {
  const std::vector<std::string> fields = split(line, " :: ");
  if (fields.size() < 2 || fields.size() > 3) return Error{"not TEXT :: RESULTS = SOURCES [:: EXACTNESS]"};
  const std::vector<std::string> sides = split(fields[1], "=");
  if (sides.size() != 2) return Error{"not RESULTS = SOURCES: '" + fields[1] + "'"};
  Row row;
  row.text = fields[0];
  std::string list;
  for (const std::string &word : words(sides[0])) {
    TRY(Type type, read_type(word, &list));
    row.results.push_back(type);
  }
  std::vector<const std::vector<uint64_t> *> inputs;
  for (const std::string &word : words(sides[1])) {
    TRY(Type type, read_type(word, &list));
    row.sources.push_back(type);
    row.is_listed.push_back(type.name != word);
    const auto found = lists.find(list);
    if (found == lists.end()) return Error{"no list '" + list + "'"};
    inputs.push_back(&found->second);
  }
  if (row.results.empty() || row.results.size() > 2 || inputs.empty() || inputs.size() > 3)
    return Error{"one or two results and one to three sources are possible"};
  if (fields.size() == 3) {
    TRY(Ok read, read_exactness(fields[2], &row));
    (void)read;
  }
  combine(inputs, &row);
  return row;
}

Result<Ok> read_list(const std::string &line, Lists *lists) {
  const std::vector<std::string> all = words(line);
  if (all.size() < 4 || all[2] != "=") return Error{"not list NAME = VALUE..."};
  std::vector<uint64_t> &list = (*lists)[all[1]];
  for (size_t i = 3; i < all.size(); ++i) {
    char *end = nullptr;
    list.push_back(std::strtoull(all[i].c_str(), &end, 16));
    if (*end) return Error{"not a hexadecimal value: '" + all[i] + "'"};
  }
  return Ok{};
}

}  // namespace

Result<std::vector<Row>> read_table(const std::string &path) {
  std::ifstream file(path);
  if (!file) return Error{path + ": cannot be read"};
  std::vector<Row> rows;
  Lists lists;
  size_t number = 0;
  for (std::string line; std::getline(file, line);) {
    const std::string at = path + ":" + std::to_string(++number);
    if (line.empty() || line[0] == '#') continue;
    if (line.starts_with("list ")) {
      if (Result<Ok> read = read_list(line, &lists); !read) return std::move(read).error().in(at);
      continue;
    }
    for (const Choice &choice : expand(line)) {
      Result<Row> row = read_row(choice.line, lists);
      if (!row) return std::move(row).error().in(at);
      row->line = number;
      rows.push_back(*std::move(row));
    }
  }
  return rows;
}

uint64_t fingerprint(const Row &row) {
  uint64_t value = hash(row.text);
  for (const auto *types : {&row.results, &row.sources})
    for (const Type &type : *types) value = hash(type.name, value);
  for (const std::vector<uint64_t> &list : row.inputs) value = hash(list, value);
  return value;
}

}  // namespace egpu::vectors
