#include "tests/sim-machine/vectors/program.h"

#include <algorithm>
#include <bit>
#include <cctype>

#include "tests/sim-machine/vectors/hash.h"

namespace egpu::vectors {
namespace {

// Not in programs: ptxas 13.0 crashes on some that use its result as a predicate.
constexpr const char *kLeftOut = "vote";
// Never under a guard. Where the guard of set or testp is false, ptxas 13.0 gives a conversion of the
// destination's old value (docs/simulator.md); the others are of all lanes of their mask.
constexpr const char *kUnguarded[] = {"set.", "testp.", "sync", "mask"};

// What a program begins with.
const std::vector<Type> kInputs = {{"pred", 1},  {"pred", 1},   {"u16", 16},    {"s16", 16}, {"f16", 16},
                                   {"bf16", 16}, {"u32", 32},   {"s32", 32},    {"f32", 32}, {"f32", 32},
                                   {"f32", 32},  {"f16x2", 32}, {"bf16x2", 32}, {"u64", 64}, {"s64", 64},
                                   {"f64", 64},  {"f64", 64}};

// f32, s32, u32 and b32 are one register width but two families: numbers stay among their kind mostly.
std::string family(const Type &type) {
  const bool is_real = type.name[0] == 'f' || type.name.starts_with("bf");
  return is_real ? type.name : "integer";
}

bool is_approximation(const Row &row) {
  return std::any_of(row.bounds.begin(), row.bounds.end(),
                     [](const Bound &bound) { return bound.kind != Bound::any_nan; });
}

std::string register_declaration(const Type &type, const std::string &name) {
  return ".reg " + (type.bits == 1 ? std::string(".pred") : ".b" + std::to_string(type.bits)) + " " + name +
         ";";
}

std::string move(const Type &type, const std::string &to, const std::string &from) {
  return "mov." + (type.bits == 1 ? std::string("pred") : "b" + std::to_string(type.bits)) + " " + to + ", " +
         from + ";";
}

// The text with each of its names replaced that is one of `names`.
std::string with_names(const std::string &text, const std::map<std::string, std::string> &names) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    if (end == i) {
      result += text[i++];
      continue;
    }
    const std::string word = text.substr(i, end - i);
    const auto found = names.find(word);
    result += found == names.end() ? word : found->second;
    i = end;
  }
  return result;
}

bool may_be_guarded(const Row &row) {
  return row.text.find(';') == row.text.npos &&
         std::none_of(std::begin(kUnguarded), std::end(kUnguarded),
                      [&row](const char *text) { return row.text.find(text) != row.text.npos; });
}

class Generator {
 public:
  Generator(const std::vector<Row> &rows, uint64_t seed, size_t number) : rows_(rows), state_(seed) {
    state_ = next_random(&state_) ^ number * 0x9E3779B97F4A7C15u;
    program_.name = "program" + std::to_string(number);
  }

  Program make() {
    for (const Type &type : kInputs) add_input(type, nullptr, 0);
    for (size_t i = 0; i < kProgramRows; ++i) add_row(pick_row());
    return finish();
  }

 private:
  struct Value {
    Type type;
    std::string name;
  };

  uint64_t random(uint64_t below) { return next_random(&state_) % below; }
  bool chance(uint64_t one_in) { return random(one_in) == 0; }

  // A line of the table first, so that lines of many rows do not crowd out the others.
  const Row &pick_row() {
    for (;;) {
      const size_t wanted = random(rows_.back().line + 1);
      const auto first =
          std::partition_point(rows_.begin(), rows_.end(), [&](const Row &row) { return row.line < wanted; });
      const auto last =
          std::partition_point(first, rows_.end(), [&](const Row &row) { return row.line <= wanted; });
      if (first == last) continue;
      const Row &row = *(first + static_cast<std::ptrdiff_t>(random(static_cast<uint64_t>(last - first))));
      if (row.text.find(kLeftOut) == row.text.npos && !is_approximation(row)) return row;
    }
  }

  // Bits of a type: an edge case of some row, a float of moderate size, or any.
  uint64_t random_bits(const Type &type) {
    const uint64_t any = next_random(&state_);
    if (type.bits == 1) return any & 1;
    const uint64_t kind = random(4);
    if (kind < 2) {
      for (;;) {
        const Row &row = rows_[random(rows_.size())];
        for (size_t i = 0; i < row.sources.size(); ++i)
          if (row.sources[i].name == type.name) return row.inputs[i][random(row.threads())];
      }
    }
    const uint64_t small = any >> 8 & 15;  // exponents around that of 1
    if (kind == 2 && type.name == "f32") return (any & 0x807FFFFF) | (119 + small) << 23;
    if (kind == 2 && type.name == "f64") return (any & 0x800FFFFFFFFFFFFF) | (1015 + small) << 52;
    return type.bits == 64 ? any : any & ((uint64_t{1} << type.bits) - 1);
  }

  // `row`: the input takes values of this row's source.
  std::string add_input(const Type &type, const Row *row, size_t source) {
    const std::string name = "i" + std::to_string(input_count_);
    const std::string from = "[from+" + std::to_string(8 * kProgramThreads * input_count_++) + "]";
    declarations_ += "  " + register_declaration(type, name) + "\n";
    loads_ += type.bits == 1 ? "  ld.global.b32 t, " + from + "; setp.ne.b32 " + name + ", t, 0;\n"
                             : "  ld.global.b" + std::to_string(type.bits) + " " + name + ", " + from + ";\n";
    for (size_t thread = 0; thread < kProgramThreads; ++thread)
      program_.inputs.push_back(row ? row->inputs[source][random(row->threads())] : random_bits(type));
    if (!row) values_.push_back({type, name});
    return name;
  }

  // A value of this width, mostly of this family.
  std::string pick_value(const Type &type) {
    const bool any_family = chance(4);
    std::vector<const Value *> fit;
    for (const Value &value : values_)
      if (value.type.bits == type.bits && (any_family || family(value.type) == family(type)))
        fit.push_back(&value);
    if (fit.empty()) return add_input(type, nullptr, 0);
    return fit[random(fit.size())]->name;
  }

  void add_row(const Row &row) {
    std::map<std::string, std::string> names;
    for (size_t i = 0; i < row.sources.size(); ++i)
      names[std::string(1, "abc"[i])] = row.is_listed[i] && row.sources[i].bits > 1 && !chance(3)
                                            ? add_input(row.sources[i], &row, i)
                                            : pick_value(row.sources[i]);
    std::string guard, before;
    if (may_be_guarded(row) && chance(4)) guard = (chance(2) ? "@!" : "@") + pick_value({"pred", 1}) + " ";
    std::vector<Value> results;
    for (size_t i = 0; i < row.results.size(); ++i) {
      const std::string name = "v" + std::to_string(program_.stored.size() + i);
      declarations_ += "  " + register_declaration(row.results[i], name) + "\n";
      if (!guard.empty()) before += move(row.results[i], name, pick_value(row.results[i])) + " ";
      names[std::string(1, "de"[i])] = name;
      results.push_back({row.results[i], name});
    }
    const std::string text = before + guard + with_names(row.text, names) + ";";
    body_ += "  { " + text + " }\n";
    for (const Value &result : results) {
      one_nan(result.type, result.name);
      hide(result);
      values_.push_back(result);
      store(result, text);
    }
  }

  void one_nan(const Type &type, const std::string &name) {
    if (family(type) == "integer") return;
    if (type.name.ends_with("x2")) {
      const std::string half = type.name.substr(0, type.name.size() - 2);
      body_ += "  mov.b32 {h0, h1}, " + name + ";\n";
      one_nan({half, 16}, "h0");
      one_nan({half, 16}, "h1");
      body_ += "  mov.b32 " + name + ", {h0, h1};\n";
      return;
    }
    const std::string bits = ".b" + std::to_string(type.bits) + " ";
    const std::string nan = type.bits == 16   ? "0x7FFF"
                            : type.bits == 32 ? "0x7FFFFFFF"
                                              : "0x7FF8000000000000";
    body_ += "  setp.nan." + type.name + " p, " + name + ", " + name + "; selp" + bits + name + ", " + nan +
             ", " + name + ", p;\n";
  }

  // From the compiler, which otherwise merges rows: it takes abs of the least integer for positive, and two
  // conversions for one. The zeros come from memory.
  void hide(const Value &value) {
    const std::string kind = value.type.bits == 1 ? "pred" : "b" + std::to_string(value.type.bits);
    body_ += "  xor." + kind + " " + value.name + ", " + value.name + ", zero_" + kind + ";\n";
  }

  void store(const Value &value, const std::string &text) {
    const std::string to = "[to+" + std::to_string(8 * kProgramThreads * program_.stored.size()) + "]";
    stores_ += value.type.bits == 1
                   ? "  selp.b32 t, 1, 0, " + value.name + "; st.global.b32 " + to + ", t;\n"
                   : "  st.global.b" + std::to_string(value.type.bits) + " " + to + ", " + value.name + ";\n";
    program_.stored.push_back(text);
  }

  Program finish() {
    program_.text =
        ".visible .entry " + program_.name +
        "(.param .u64 %in, .param .u64 %out, .param .u64 %scratch)\n{\n"
        "  .reg .pred p, q, zero_pred; .reg .b16 h0, h1, zero_b16; .reg .b32 t, u, lane, thread, "
        "shared_cell, "
        "zero_b32;\n  .reg .b64 x, from, to, global_cell, zero_b64;\n  .shared .align 16 .b8 cells[" +
        std::to_string(16 * kProgramThreads) + "];\n" + declarations_ +
        "  ld.param.u64 from, [%in]; ld.param.u64 to, [%out]; ld.param.u64 global_cell, [%scratch];\n"
        "  mov.u32 thread, %tid.x; mov.u32 lane, %laneid; mov.u32 t, cells;\n"
        "  mad.lo.u32 shared_cell, thread, 16, t; mad.wide.u32 global_cell, thread, 16, global_cell;\n"
        "  mad.wide.u32 from, thread, 8, from; mad.wide.u32 to, thread, 8, to;\n"
        "  ld.global.b64 zero_b64, [global_cell]; cvt.u32.u64 zero_b32, zero_b64; cvt.u16.u64 zero_b16, "
        "zero_b64;\n  setp.ne.b64 zero_pred, zero_b64, 0;\n" +
        loads_ + body_ + stores_ + "  ret;\n}\n";
    return std::move(program_);
  }

  const std::vector<Row> &rows_;
  uint64_t state_;
  Program program_;
  std::vector<Value> values_;
  size_t input_count_ = 0;
  std::string declarations_, loads_, body_, stores_;
};

}  // namespace

size_t rows_of_programs(const std::vector<Row> &rows) {
  size_t count = rows.size();
  while (count && rows[count - 1].is_alone) --count;
  return count;
}

Program make_program(const std::vector<Row> &rows, uint64_t seed, size_t number) {
  return Generator(rows, seed, number).make();
}

std::string module_of(const std::vector<Program> &programs) {
  std::string text = ".version 8.3\n.target sm_90\n.address_size 64\n";
  for (const Program &program : programs) text += program.text;
  return text;
}

}  // namespace egpu::vectors
