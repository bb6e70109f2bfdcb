// Several causes in one program, the path and the registers that are shown with them, and costs.
#include "lib/bpf2ptx/verify/refusals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/bpf2ptx/insn/format.h"
#include "tests/bpf2ptx-verify/world.h"

namespace egpu::bpf::test {
namespace {

struct Case {
  const char *name, *text;
  std::vector<const char *> lines;  // part of each line that is a refusal, in this order
};

const Case kCases[] = {
    {"two branches, two causes",
     R"(
r2 = *(u32 *)(r1 +60)
r0 = 0
if r2 > 5 goto other
r3 = *(u64 *)(r10 -8)
exit
other: *(u32 *)(r1 +60) = 1
exit
)",
     {"insn 3: error: the stack is not initialised", "insn 5: error: the context is read-only"}},
    {"one instruction on many paths",
     R"(
r2 = *(u32 *)(r1 +60)
r0 = 0
if r2 > 5 goto other
r0 = 1
other: r3 = *(u64 *)(r10 -8)
exit
)",
     {"insn 4: error: the stack is not initialised"}},
    {"one lookup, used unchecked twice",
     R"(
r6 = *(u32 *)(r1 +60)
*(u64 *)(r10 -8) = 0
r1 = map[hash]
r2 = r10
r2 += -8
call bpf_map_lookup_elem
if r6 > 5 goto other
r1 = *(u64 *)(r0 +0)
r0 = 0
exit
other: *(u64 *)(r0 +8) = 1
r0 = 0
exit
)",
     {"error: r0 may be NULL here: the lookup at insn 5 is not checked"}},
    {"after a refusal the path is over",
     R"(
r3 = *(u64 *)(r10 -8)
r4 = *(u64 *)(r10 -16)
r0 = 0
exit
)",
     {"insn 0: error: the stack is not initialised at offset -8"}},
    {"a loop without an end beside another cause",
     R"(
r2 = *(u32 *)(r1 +60)
r0 = 0
if r2 > 5 goto loop
r3 = *(u64 *)(r10 -8)
exit
loop: goto loop
)",
     {"insn 3: error: the stack is not initialised", "insn 5: error: this loop never ends"}},
};

TEST(Refusals, OnePerCause) {
  for (const Case &c : kCases) {
    SCOPED_TRACE(c.name);
    auto program = make_program(c.text, "gpu/entry");
    ASSERT_TRUE(program) << program.error().message;
    std::vector<Refusal> refusals;
    auto facts = verify(*program, object(), {}, &refusals);
    ASSERT_FALSE(facts);
    EXPECT_EQ(refusals.size(), c.lines.size()) << facts.error().message;
    size_t at = 0;
    for (const char *line : c.lines) {
      size_t found = facts.error().message.find(line, at);
      ASSERT_NE(found, std::string::npos) << line << " after " << at << " in\n" << facts.error().message;
      at = found + 1;
    }
  }
}

TEST(Refusals, AtMostTen) {
  std::string text = "r2 = *(u32 *)(r1 +60)\nr0 = 0\n";
  for (int i = 0; i < 13; ++i) text += format("if r2 == {} goto l{}\n", i, i);
  text += "exit\n";
  for (int i = 0; i < 13; ++i) text += format("l{}: r3 = *(u64 *)(r10 -{})\nexit\n", i, 8 * (i + 1));
  auto program = make_program(text, "gpu/entry");
  ASSERT_TRUE(program) << program.error().message;
  std::vector<Refusal> refusals;
  EXPECT_FALSE(verify(*program, object(), {}, &refusals));
  EXPECT_EQ(refusals.size(), kMaxRefusals);
}

TEST(Refusals, AreJoinedByPosition) {
  auto refusal = [](const char *file, uint32_t line, const char *message) {
    return Refusal{{file, "", line, 1}, 0, message};
  };
  EXPECT_EQ(join({refusal("b.c", 2, "two"), refusal("b.c", 10, "ten"), refusal("a.c", 5, "five"),
                  refusal("b.c", 2, "two\nby another path")})
                .message,
            "five\ntwo\nten");
  std::vector<Refusal> many;
  for (uint32_t i = 0; i < 13; ++i) many.push_back(refusal("a.c", i, as_text(i).c_str()));
  EXPECT_EQ(join(many).message, "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\nand 3 more");
}

// The path is shown where another one is fine, the last three decisions of it; all and the registers
// if asked for.
TEST(Refusals, ShowThePath) {
  const char *text = R"(
r6 = *(u32 *)(r1 +60)
r7 = 3
r0 = 0
if r6 > 1 goto a
r0 = 1
a: if r6 > 2 goto b
r0 = 2
b: if r6 > 3 goto c
r0 = 3
c: if r6 > 4 goto d
*(u64 *)(r10 -8) = r7
d: r3 = *(u64 *)(r10 -8)
exit
)";
  auto program = make_program(text, "gpu/entry");
  ASSERT_TRUE(program) << program.error().message;
  VerifyOptions options;
  auto facts = verify(*program, object(), options);
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message, testing::EndsWith("\n  from insn 5, `if r6 > 2 goto 7`, to insn 7"
                                                       "\n  from insn 7, `if r6 > 3 goto 9`, to insn 9"
                                                       "\n  from insn 9, `if r6 > 4 goto 11`, to insn 11"));
  options.explain = true;
  facts = verify(*program, object(), options);
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message, testing::HasSubstr("\n  from insn 3, `if r6 > 1 goto 5`, to insn 5\n"));
  EXPECT_THAT(
      facts.error().message,
      testing::EndsWith("\n  registers: r0 = 0, r1 = ctx, r6 = 5 to 4294967295, r7 = 3, r10 = stack"));
}

TEST(Refusals, ShowNoPathWhereNoneIsFine) {
  auto program = make_program(R"(
r2 = *(u32 *)(r1 +60)
r0 = 0
if r2 > 5 goto other
r0 = 1
other: *(u32 *)(r1 +60) = 1
exit
)",
                              "gpu/entry");
  ASSERT_TRUE(program) << program.error().message;
  auto facts = verify(*program, object());
  ASSERT_FALSE(facts);
  EXPECT_THAT(facts.error().message, testing::Not(testing::HasSubstr("from insn")));
}

struct CostCase {
  const char *name, *text;
  uint32_t insns, memory, atomics, helpers;
};

// Each number is that of its own worst path.
const CostCase kCosts[] = {
    {"nothing", "r0 = 0\nexit\n", 2, 0, 0, 0},
    {"one way is longer, the other has the accesses", R"(
r2 = *(u32 *)(r1 +60)
r0 = 0
if r2 > 5 goto accesses
r0 += 1
r0 += 1
r0 += 1
r0 += 1
exit
accesses: r3 = map[bss][0]+0
r4 = 1
lock *(u64 *)(r3 +0) += r4
exit
)",
     8, 2, 1, 0},
    {"a loop", R"(
r6 = 0
loop: call bpf_get_prandom_u32
*(u64 *)(r10 -8) = r0
r6 += 1
if r6 < 5 goto loop
r0 = 0
exit
)",
     23, 5, 0, 5},
    {"a loop that pruning cuts short", R"(
r6 = *(u32 *)(r1 +52)
r7 = 0
r8 = map[bss][0]+0
r9 = 1
loop: r0 = 0
if r6 == r7 goto out
lock *(u64 *)(r8 +0) += r9
r7 += 1
if r7 < 7 goto loop
out: exit
)",
     40, 8, 7, 0},
    {"a function, called twice", R"(
call add
call add
r0 = 0
exit
add: r1 = map[bss][0]+0
r2 = 1
lock *(u64 *)(r1 +0) += r2
r0 = 0
exit
)",
     14, 2, 2, 0},
    {"bpf_loop", R"(
r1 = 4
r2 = func round
r3 = 0
r4 = 0
call bpf_loop
r0 = 0
exit
round: call bpf_ktime_get_ns
r0 = 0
exit
)",
     19, 0, 0, 5},
};

TEST(Cost, IsThatOfTheWorstPath) {
  for (const CostCase &c : kCosts) {
    SCOPED_TRACE(c.name);
    auto program = make_program(c.text, "gpu/entry");
    ASSERT_TRUE(program) << program.error().message;
    auto facts = verify(*program, object());
    ASSERT_TRUE(facts) << facts.error().message;
    EXPECT_EQ(facts->cost.insns, c.insns);
    EXPECT_EQ(facts->cost.memory, c.memory);
    EXPECT_EQ(facts->cost.atomics, c.atomics);
    EXPECT_EQ(facts->cost.helpers, c.helpers);
  }
}

}  // namespace
}  // namespace egpu::bpf::test
