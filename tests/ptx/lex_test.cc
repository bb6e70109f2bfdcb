#include "lib/loader/ptx/lex.h"

#include <gtest/gtest.h>

#include <string>

namespace egpu::ptx {
namespace {

// Tokens as "kind:text" joined by blanks, which makes the tables readable.
std::string shown(std::string_view text) {
  auto tokens = lex(text);
  if (!tokens) return "error: " + tokens.error().message;
  std::string out;
  for (const Token &t : *tokens) {
    if (!out.empty()) out += ' ';
    out += "wnsp"[static_cast<int>(t.kind)];
    out += ':';
    out += t.text;
  }
  return out;
}

struct Row {
  const char *name, *text, *expected;
};

class Lex : public testing::TestWithParam<Row> {};

TEST_P(Lex, tokens) { EXPECT_EQ(shown(GetParam().text), GetParam().expected); }

const Row kRows[] = {
    {"mnemonic", "ld.global.v4.f32", "w:ld.global.v4.f32"},
    {"state_space_with_colons", "ld.shared::cta.u32 %r1", "w:ld.shared::cta.u32 w:%r1"},
    {"size_with_colons", "ld.global.L2::128B.b32", "w:ld.global.L2::128B.b32"},
    {"label", "$L__BB0_1:ret;", "w:$L__BB0_1 p:: w:ret p:;"},
    {"special_register", "%tid.x", "w:%tid.x"},
    {"register_range", ".reg .b32 %r<5>;", "w:.reg w:.b32 w:%r p:< n:5 p:> p:;"},
    {"predicate", "@!%p1 bra", "p:@ p:! w:%p1 w:bra"},
    {"negative_offset", "[%rd1+-4]", "p:[ w:%rd1 p:+ p:- n:4 p:]"},
    {"numbers", "0x1F 017 0b101 42U 0f3F800000 0d3FF0000000000000",
     "n:0x1F n:017 n:0b101 n:42U n:0f3F800000 n:0d3FF0000000000000"},
    {"floats", "1.5 .5 1e10 1.5E-3 2e+4", "n:1.5 n:.5 n:1e10 n:1.5E-3 n:2e+4"},
    {"hex_is_not_an_exponent", "0x1e-1", "n:0x1e p:- n:1"},
    {"string", ".file 1 \"a \\\" ; b\"", "w:.file n:1 s:\"a \\\" ; b\""},
    {"line_comment", "ret // ; ret\n;", "w:ret p:;"},
    {"block_comment", "ret /* ; \n * / */ ;", "w:ret p:;"},
    {"percent_alone", "4 % 3", "n:4 p:% n:3"},
    {"sink", "_ , %p1|%p2", "w:_ p:, w:%p1 p:| w:%p2"},
    {"mangled", "_ZN2ns6vecaddIfLi4EEEvPKfS2_Pfi(", "w:_ZN2ns6vecaddIfLi4EEEvPKfS2_Pfi p:("},
    {"preprocessor", "# 1 \"a.cu\"\nret;", "w:ret p:;"},
    {"empty", " \n\t // x", ""},
    {"open_comment", "ret;\n/* x", "error: line 2: unterminated comment"},
    {"open_string", "\n\n.file 1 \"a", "error: line 3: unterminated string"},
    {"control_character", "ret\n\x01", "error: line 2: unexpected character with code 1"},
};

INSTANTIATE_TEST_SUITE_P(Rows, Lex, testing::ValuesIn(kRows),
                         [](const auto &row) { return std::string(row.param.name); });

TEST(LexPlace, lines_and_offsets) {
  auto tokens = lex("a /* x\n */ b\n  \"s\ns\" c");
  ASSERT_TRUE(tokens);
  ASSERT_EQ(tokens->size(), 4u);
  EXPECT_EQ((*tokens)[1].line, 2u);
  EXPECT_EQ((*tokens)[1].offset, 11u);
  EXPECT_EQ((*tokens)[2].line, 3u);
  EXPECT_EQ((*tokens)[3].line, 4u);
}

}  // namespace
}  // namespace egpu::ptx
