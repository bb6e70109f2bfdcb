#include "lib/bpf2ptx/insn/assemble.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>

#include "lib/bpf2ptx/insn/format.h"
#include "lib/bpf2ptx/insn/helper_names.h"

namespace egpu::bpf {
namespace {

// One line, read from left to right. Blanks between tokens do not matter.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) { skip(); }

  bool at_end() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  bool accept(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    // A word ends where the word ends: "le16" is no prefix of a longer name.
    bool word = is_word(token.back());
    if (word && rest_.size() > token.size() && is_word(rest_[token.size()])) return false;
    rest_.remove_prefix(token.size());
    skip();
    return true;
  }
  std::string word() {
    size_t n = 0;
    while (n < rest_.size() && is_word(rest_[n])) ++n;
    std::string found(rest_.substr(0, n));
    rest_.remove_prefix(n);
    skip();
    return found;
  }
  std::optional<int64_t> number() {
    Cursor ahead = *this;
    bool negative = ahead.accept("-");
    if (!negative) ahead.accept("+");
    std::string digits = ahead.word();
    if (digits.empty() || !std::isdigit(static_cast<unsigned char>(digits[0]))) return std::nullopt;
    size_t used = 0;
    bool is_hex = digits.starts_with("0x");
    uint64_t magnitude = 0;
    for (used = is_hex ? 2 : 0; used < digits.size(); ++used) {
      char c = digits[used];
      if (!(is_hex ? std::isxdigit(static_cast<unsigned char>(c))
                   : std::isdigit(static_cast<unsigned char>(c))))
        return std::nullopt;
      auto digit =
          static_cast<uint64_t>(std::isdigit(static_cast<unsigned char>(c)) ? c - '0' : (c | 32) - 'a' + 10);
      magnitude = magnitude * (is_hex ? 16 : 10) + digit;
    }
    *this = ahead;
    return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
  }
  // "r3" or "w3"; *is64 says which.
  std::optional<Reg> reg(bool *is64 = nullptr) {
    Cursor ahead = *this;
    std::string name = ahead.word();
    if (name.size() < 2 || name.size() > 3 || (name[0] != 'r' && name[0] != 'w')) return std::nullopt;
    int n = 0;
    for (char c : name.substr(1)) {
      if (!std::isdigit(static_cast<unsigned char>(c))) return std::nullopt;
      n = n * 10 + (c - '0');
    }
    if (n > 10) return std::nullopt;
    if (is64) *is64 = name[0] == 'r';
    *this = ahead;
    return Reg{static_cast<uint8_t>(n)};
  }

 private:
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
  void skip() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0]))) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

struct AluToken {
  const char *text;
  AluOp op;
};
constexpr AluToken kAluTokens[] = {{"s>>=", AluOp::arsh}, {"s/=", AluOp::sdiv}, {"s%=", AluOp::smod},
                                   {"<<=", AluOp::lsh},   {">>=", AluOp::rsh},  {"+=", AluOp::add},
                                   {"-=", AluOp::sub},    {"*=", AluOp::mul},   {"/=", AluOp::div},
                                   {"%=", AluOp::mod},    {"|=", AluOp::or_},   {"&=", AluOp::and_},
                                   {"^=", AluOp::xor_}};
struct CmpToken {
  const char *text;
  CmpOp op;
};
constexpr CmpToken kCmpTokens[] = {{"s>=", CmpOp::sge}, {"s<=", CmpOp::sle}, {"s>", CmpOp::sgt},
                                   {"s<", CmpOp::slt},  {">=", CmpOp::ge},   {"<=", CmpOp::le},
                                   {"==", CmpOp::eq},   {"!=", CmpOp::ne},   {">", CmpOp::gt},
                                   {"<", CmpOp::lt},    {"&", CmpOp::set}};
struct AtomicToken {
  const char *text;
  AtomicOp op;
};
constexpr AtomicToken kAtomicTokens[] = {{"fetch_add", AtomicOp::add},  {"fetch_or", AtomicOp::or_},
                                         {"fetch_and", AtomicOp::and_}, {"fetch_xor", AtomicOp::xor_},
                                         {"xchg", AtomicOp::xchg},      {"cmpxchg", AtomicOp::cmpxchg}};
constexpr AtomicToken kLockTokens[] = {
    {"+=", AtomicOp::add}, {"|=", AtomicOp::or_}, {"&=", AtomicOp::and_}, {"^=", AtomicOp::xor_}};

class Assembler {
 public:
  explicit Assembler(const std::vector<std::string> &map_names) : map_names_(map_names) {}

  Result<Assembly> assemble(const std::string &text) {
    size_t begin = 0;
    for (line_ = 1; begin <= text.size(); ++line_) {
      size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      line = line.substr(0, line.find("//"));
      TRY(Ok ok, statements(line));
      (void)ok;
    }
    for (const Fixup &fixup : fixups_) {
      line_ = fixup.line;
      TRY(Ok ok, resolve(fixup));
      (void)ok;
    }
    uint32_t slot = 0;
    std::set<int> starts{0};
    for (Insn &insn : out_.insns) {
      insn.slot = slot;
      slot += static_cast<uint32_t>(slot_count(insn.op));
      if (auto *call = std::get_if<CallLocal>(&insn.op)) starts.insert(call->target);
      if (auto *load = std::get_if<LoadFunction>(&insn.op)) starts.insert(load->target);
    }
    out_.subprogram_starts.assign(starts.begin(), starts.end());
    for (int start : starts) out_.subprogram_names.push_back(start == 0 ? "main" : name_of(start));
    return std::move(out_);
  }

 private:
  struct Fixup {
    size_t insn;
    std::string target;
    size_t line;
  };
  // A target that is not known yet.
  static constexpr int kUnresolved = -1;

  Error fail(const std::string &what) const { return {format("line {}: {}", line_, what)}; }

  std::string name_of(int start) const {
    for (const auto &[name, index] : labels_)
      if (index == start) return name;
    return format("insn{}", start);
  }

  // Statements are separated by ';'.
  Result<Ok> statements(const std::string &line) {
    for (size_t begin = 0; begin <= line.size();) {
      size_t end = std::min(line.find(';', begin), line.size());
      Cursor cursor(std::string_view(line).substr(begin, end - begin));
      begin = end + 1;
      if (cursor.at_end()) continue;
      Cursor label = cursor;
      std::string name = label.word();
      if (!name.empty() && label.accept(":")) {
        labels_[name] = static_cast<int>(out_.insns.size());
        cursor = label;
        if (cursor.at_end()) continue;
      }
      auto op = statement(cursor);
      if (!op) return op.error();
      out_.insns.push_back(Insn{*op, 0, -1});
      if (!cursor.at_end()) return fail(format("cannot read '{}'", cursor.rest()));
    }
    return Ok{};
  }

  void fix(const std::string &target) { fixups_.push_back({out_.insns.size(), target, line_}); }

  Result<Ok> resolve(const Fixup &fixup) {
    int target = kUnresolved;
    auto label = labels_.find(fixup.target);
    if (label != labels_.end())
      target = label->second;
    else if (auto number = Cursor(fixup.target).number())
      target = static_cast<int>(*number);
    else
      return fail(format("no label '{}'", fixup.target));
    Op &op = out_.insns[fixup.insn].op;
    if (auto *jump = std::get_if<Jump>(&op)) jump->target = target;
    if (auto *jump = std::get_if<JumpIf>(&op)) jump->target = target;
    if (auto *call = std::get_if<CallLocal>(&op)) call->target = target;
    if (auto *load = std::get_if<LoadFunction>(&op)) load->target = target;
    return Ok{};
  }

  Result<Op> statement(Cursor &c) {
    if (c.accept("exit")) return Op{Exit{}};
    if (c.accept("goto")) return fix(c.word()), Op{Jump{kUnresolved}};
    if (c.accept("if")) return conditional(c);
    if (c.accept("call")) return call(c);
    if (c.accept("lock")) return lock(c);
    if (c.accept("*")) return store(c);
    return assignment(c);
  }

  Result<Operand> operand(Cursor &c, bool is64) {
    bool wide = is64;
    if (auto reg = c.reg(&wide)) {
      if (wide != is64) return fail("r and w registers are mixed");
      return Operand{*reg};
    }
    auto number = c.number();
    if (!number) return fail(format("no operand at '{}'", c.rest()));
    if (*number < INT32_MIN || *number > UINT32_MAX) return fail("immediate does not fit in 32 bits");
    return Operand{Imm{static_cast<int32_t>(*number)}};
  }

  Result<Op> conditional(Cursor &c) {
    bool is64 = true;
    auto lhs = c.reg(&is64);
    if (!lhs) return fail("no register after 'if'");
    for (const CmpToken &token : kCmpTokens) {
      if (!c.accept(token.text)) continue;
      TRY(Operand rhs, operand(c, is64));
      if (!c.accept("goto")) return fail("no 'goto'");
      fix(c.word());
      return Op{JumpIf{token.op, is64, *lhs, rhs, kUnresolved}};
    }
    return fail(format("no comparison at '{}'", c.rest()));
  }

  Result<Op> call(Cursor &c) {
    if (auto number = c.number()) return Op{CallHelper{static_cast<int32_t>(*number)}};
    if (c.accept("func")) return fix(c.word()), Op{CallLocal{kUnresolved}};
    std::string name = c.word();
    if (c.accept("#")) {
      if (auto number = c.number()) return Op{CallHelper{static_cast<int32_t>(*number)}};
      return fail("no helper number");
    }
    for (int32_t id = 1; id <= 0x6010; id = id == 0x200 ? 0x6001 : id + 1)
      if (helper_name(id) == name) return Op{CallHelper{id}};
    fix(name);
    return Op{CallLocal{kUnresolved}};
  }

  struct Address {
    bool sign;
    uint8_t bytes;
    Reg base;
    int16_t offset;
  };
  // "(u32 *)(r1 +4)"
  Result<Address> address(Cursor &c) {
    if (!c.accept("(")) return fail("no '('");
    std::string type = c.word();
    bool known = type == "u8" || type == "u16" || type == "u32" || type == "u64" || type == "s8" ||
                 type == "s16" || type == "s32";
    if (!known) return fail(format("no type '{}'", type));
    auto bytes = static_cast<uint8_t>(std::stoi(type.substr(1)) / 8);
    if (!c.accept("*") || !c.accept(")") || !c.accept("("))
      return fail("an address looks like (u32 *)(r1 +4)");
    auto base = c.reg();
    if (!base) return fail("no base register");
    int64_t offset = 0;
    if (auto number = c.number()) offset = *number;
    if (!c.accept(")")) return fail("no ')' after the address");
    if (offset != static_cast<int16_t>(offset)) return fail("offset does not fit in 16 bits");
    return Address{type[0] == 's', bytes, *base, static_cast<int16_t>(offset)};
  }

  Result<Op> lock(Cursor &c) {
    if (!c.accept("*")) return fail("no '*' after 'lock'");
    TRY(Address a, address(c));
    for (const AtomicToken &token : kLockTokens) {
      if (!c.accept(token.text)) continue;
      auto src = c.reg();
      if (!src) return fail("no register");
      return Op{Atomic{token.op, a.bytes, false, a.base, a.offset, *src}};
    }
    return fail("no atomic operation");
  }

  Result<Op> store(Cursor &c) {
    TRY(Address a, address(c));
    if (!c.accept("=")) return fail("no '='");
    TRY(Operand src, operand(c, true));
    return Op{Store{a.bytes, a.base, a.offset, src}};
  }

  Result<int> map_index(Cursor &c) {
    if (auto number = c.number()) return static_cast<int>(*number);
    std::string name = c.word();
    auto found = std::find(map_names_.begin(), map_names_.end(), name);
    if (found == map_names_.end()) return fail(format("no map '{}'", name));
    return static_cast<int>(found - map_names_.begin());
  }

  Result<Op> assignment(Cursor &c) {
    bool is64 = true;
    auto dst = c.reg(&is64);
    if (!dst) return fail(format("cannot read '{}'", c.rest()));
    for (const AluToken &token : kAluTokens) {
      if (!c.accept(token.text)) continue;
      TRY(Operand src, operand(c, is64));
      return Op{Alu{token.op, is64, *dst, src}};
    }
    if (!c.accept("=")) return fail("no '='");
    return value(c, *dst, is64);
  }

  Result<Op> value(Cursor &c, Reg dst, bool is64) {
    if (c.accept("*")) {
      TRY(Address a, address(c));
      return Op{Load{a.bytes, a.sign, dst, a.base, a.offset}};
    }
    if (c.accept("map")) return map_value(c, dst);
    if (c.accept("func")) return fix(c.word()), Op{LoadFunction{dst, kUnresolved}};
    for (bool wide : {true, false})
      for (const AtomicToken &token : kAtomicTokens)
        if (c.accept(format("atomic{}_{}", wide ? "64" : "", token.text))) return atomic(c, token.op, dst);
    for (int bits : {16, 32, 64}) {
      constexpr std::pair<const char *, EndianOp> kNames[] = {
          {"le", EndianOp::to_le}, {"be", EndianOp::to_be}, {"bswap", EndianOp::bswap}};
      for (const auto &[name, op] : kNames)
        if (c.accept(format("{}{}", name, bits))) {
          c.reg();
          return Op{Endian{op, static_cast<uint8_t>(bits), dst}};
        }
    }
    Cursor negated = c;
    if (negated.accept("-") && negated.reg()) {
      c = negated;
      return Op{Neg{is64, dst}};
    }
    for (int bits : {8, 16, 32})
      if (c.accept(format("(s{})", bits))) {
        TRY(Operand src, operand(c, is64));
        return Op{Mov{is64, static_cast<uint8_t>(bits), dst, src}};
      }
    Cursor wide = c;
    if (auto number = wide.number(); number && wide.accept("ll")) {
      c = wide;
      return Op{LoadImm64{dst, static_cast<uint64_t>(*number)}};
    }
    TRY(Operand src, operand(c, is64));
    return Op{Mov{is64, 0, dst, src}};
  }

  Result<Op> map_value(Cursor &c, Reg dst) {
    if (!c.accept("[")) return fail("no '[' after 'map'");
    TRY(int map, map_index(c));
    if (!c.accept("]")) return fail("no ']'");
    if (!c.accept("[0]")) return Op{LoadMap{dst, map}};
    int64_t offset = 0;
    if (auto number = c.number()) offset = *number;
    return Op{LoadMapValue{dst, map, static_cast<uint32_t>(offset)}};
  }

  // "((u64 *)(r1 +0), r2)"; cmpxchg has r0 in between.
  Result<Op> atomic(Cursor &c, AtomicOp op, Reg dst) {
    if (!c.accept("(")) return fail("no '('");
    TRY(Address a, address(c));
    if (op == AtomicOp::cmpxchg && (!c.accept(",") || !c.accept("r0")))
      return fail("cmpxchg compares with r0");
    if (!c.accept(",")) return fail("no ','");
    auto src = c.reg();
    if (!src || !c.accept(")")) return fail("no source register");
    if (dst.n != (op == AtomicOp::cmpxchg ? 0 : src->n))
      return fail("the result goes to the source register (cmpxchg: r0)");
    return Op{Atomic{op, a.bytes, true, a.base, a.offset, *src}};
  }

  const std::vector<std::string> &map_names_;
  Assembly out_;
  std::map<std::string, int> labels_;
  std::vector<Fixup> fixups_;
  size_t line_ = 0;
};

}  // namespace

Result<Assembly> assemble(const std::string &text, const std::vector<std::string> &map_names) {
  return Assembler(map_names).assemble(text);
}

}  // namespace egpu::bpf
