// Labels of registers and the notes that follow from them: programs in text form with both.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/bpf2ptx/insn/format.h"
#include "tests/bpf2ptx-verify/world.h"

namespace egpu::bpf::test {
namespace {

struct Case {
  const char *name, *text;
  // "r2 lane": before the last instruction of the main program, an exit.
  std::vector<const char *> labels;
  const char *note = nullptr;  // part of the only note; null: there is none
  const char *event = "gpu/entry";
};

// The context's offsets: block_idx 24, thread_idx 36, sm_id 48, lane_id 52, active_mask 56, kernel 60,
// arg 80; of memory events addr 176.
const Case kCases[] = {
    {"sources",
     R"(
r2 = 7
r3 = *(u32 *)(r1 +60)
r4 = *(u32 *)(r1 +24)
r5 = *(u32 *)(r1 +56)
r6 = *(u32 *)(r1 +36)
r7 = *(u64 *)(r1 +80)
r8 = *(u32 *)(r1 +48)
r9 = *(u32 *)(r1 +52)
r0 = 0
exit
)",
     {"r0 grid", "r1 grid", "r2 grid", "r3 grid", "r4 block", "r5 warp", "r6 lane", "r7 grid", "r8 warp",
      "r9 lane", "r10 grid"}},
    {"an operation varies as its operands do",
     R"(
r2 = *(u32 *)(r1 +24)
r3 = *(u32 *)(r1 +52)
r4 = r2
r4 += 3
r5 = r2
r5 += r3
r6 = r3
r6 ^= r6
r7 = r3
r7 = -r7
r0 = 0
exit
)",
     {"r4 block", "r5 lane", "r6 grid", "r7 lane"}},
    {"one lane runs a warp program",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = *(u32 *)(r1 +24)
r0 = 0
exit
)",
     {"r2 warp", "r3 block"},
     nullptr,
     "gpu.warp/entry"},
    {"one thread runs a block program, or a grid's",
     R"(
r2 = *(u32 *)(r1 +52)
r0 = 0
exit
)",
     {"r2 block"},
     nullptr,
     "gpu.block/entry"},
    {"one thread runs a grid's program",
     R"(
r2 = *(u32 *)(r1 +52)
r0 = 0
exit
)",
     {"r2 grid"},
     nullptr,
     "gpu.grid/entry"},
    {"the stack keeps labels",
     R"(
r2 = *(u32 *)(r1 +52)
*(u64 *)(r10 -8) = r2
*(u64 *)(r10 -16) = 5
r3 = *(u64 *)(r10 -8)
r4 = *(u64 *)(r10 -16)
*(u64 *)(r10 -8) = 6
r5 = *(u64 *)(r10 -8)
r0 = 0
exit
)",
     {"r3 lane", "r4 grid", "r5 grid"}},
    {"constants and changing memory",
     R"(
r2 = map[rodata][0]+0
r2 = *(u32 *)(r2 +0)
r3 = map[bss][0]+0
r3 = *(u32 *)(r3 +0)
r0 = 0
exit
)",
     {"r2 grid", "r3 warp"}},
    {"ways of a varying branch meet",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = 1
r4 = 1
if r2 > 15 goto high
r3 = 2
high: r5 = r3
r0 = 0
exit
)",
     {"r3 lane", "r4 grid", "r5 lane"}},
    {"ways of a branch of blocks meet",
     R"(
r2 = *(u32 *)(r1 +24)
r3 = 1
if r2 > 15 goto high
r3 = 2
high: r0 = 0
exit
)",
     {"r3 block"}},
    {"inside of one way nothing differs",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = *(u64 *)(r1 +80)
r0 = 0
if r2 > 15 goto out
r4 = 1
if r3 > 3 goto more
r4 = 2
more: r5 = r4
r6 = map[bss][0]+0
lock *(u64 *)(r6 +0) += r5
out: exit
)",
     {"r0 grid", "r2 lane"}},
    {"written on the stack on one way",
     R"(
r2 = *(u32 *)(r1 +52)
*(u64 *)(r10 -8) = 1
if r2 > 15 goto high
*(u64 *)(r10 -8) = 2
high: r3 = *(u64 *)(r10 -8)
r0 = 0
exit
)",
     {"r3 lane"}},
    {"a loop that lanes leave in different rounds",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = 0
r4 = 9
loop: r3 += 1
if r3 < r2 goto loop
r0 = 0
exit
)",
     {"r3 lane", "r4 grid"}},
    {"a loop that all leave together",
     R"(
r3 = 0
loop: r3 += 1
if r3 < 5 goto loop
r0 = 0
exit
)",
     {"r3 grid"}},
    {"left in the middle",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = 0
loop: r3 += 1
if r3 == r2 goto found
if r3 < 9 goto loop
found: r0 = 0
exit
)",
     {"r3 lane"}},
    {"a function's result and what it writes",
     R"(
r2 = *(u32 *)(r1 +52)
*(u64 *)(r10 -8) = 0
*(u64 *)(r10 -16) = 0
r1 = r10
r1 += -8
call put
r6 = r0
r7 = *(u64 *)(r10 -8)
r8 = *(u64 *)(r10 -16)
r0 = 0
exit
put: *(u64 *)(r1 +0) = r2
r0 = 4
exit
)",
     {"r6 grid", "r7 lane", "r8 grid"}},
    {"rounds of bpf_loop",
     R"(
r1 = *(u32 *)(r1 +52)
*(u64 *)(r10 -8) = 0
r2 = func round
r3 = r10
r3 += -8
r4 = 0
call bpf_loop
r6 = r0
r7 = *(u64 *)(r10 -8)
r0 = 0
exit
round: r3 = *(u64 *)(r2 +0)
r3 += 1
*(u64 *)(r2 +0) = r3
r0 = 0
exit
)",
     {"r6 lane", "r7 lane"}},
    {"helpers",
     R"(
r1 = *(u32 *)(r1 +52)
call gpu_log2_slot
r6 = r0
call bpf_get_prandom_u32
r7 = r0
call bpf_ktime_get_ns
r8 = r0
call bpf_get_smp_processor_id
r9 = r0
r1 = r6
call gpu_ballot
exit
)",
     {"r6 lane", "r7 lane", "r8 warp", "r9 warp"}},
    {"a ballot is the same for all it asks",
     R"(
r1 = *(u32 *)(r1 +52)
call gpu_ballot
r6 = r0
r0 = 0
exit
)",
     {"r6 warp"}},
    {"an array's value is that of its key",
     R"(
r6 = *(u32 *)(r1 +24)
*(u32 *)(r10 -4) = r6
r1 = map[array]
r2 = r10
r2 += -4
call bpf_map_lookup_elem
r7 = r0
r0 = 0
exit
)",
     {"r7 block"}},
    {"a hash's value can change",
     R"(
*(u64 *)(r10 -8) = 0
r1 = map[hash]
r2 = r10
r2 += -8
call bpf_map_lookup_elem
r7 = r0
r0 = 0
exit
)",
     {"r7 warp"}},
    {"lanes add to one address",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = map[bss][0]+0
lock *(u64 *)(r3 +0) += r2
r0 = 0
exit
)",
     {},
     "the lanes of a warp add different numbers to one address of '.bss'"},
    {"a warp adds one number",
     R"(
r2 = *(u64 *)(r1 +80)
r3 = map[bss][0]+0
lock *(u64 *)(r3 +0) += r2
r0 = 0
exit
)",
     {}},
    {"lanes set one address",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = map[bss][0]+0
r2 = atomic64_xchg((u64 *)(r3 +0), r2)
r0 = 0
exit
)",
     {"r2 lane"},
     "the lanes of a warp update one address of '.bss'"},
    {"one lane of each warp adds",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = map[bss][0]+0
lock *(u64 *)(r3 +0) += r2
r0 = 0
exit
)",
     {},
     nullptr,
     "gpu.warp/entry"},
    {"few addresses",
     R"(
r2 = *(u32 *)(r1 +52)
r2 &= 3
r2 <<= 3
r3 = map[bss][0]+0
r3 += r2
r4 = 1
lock *(u64 *)(r3 +0) += r4
r0 = 0
exit
)",
     {"r3 lane"},
     "the lanes of a warp update 4 addresses of '.bss' at once"},
    {"many addresses",
     R"(
r6 = *(u32 *)(r1 +52)
*(u32 *)(r10 -4) = r6
r1 = map[array]
r2 = r10
r2 += -4
call bpf_map_lookup_elem
if r0 == 0 goto out
r1 = 1
lock *(u64 *)(r0 +0) += r1
out: r0 = 0
exit
)",
     {}},
    {"both ways work",
     R"(
r2 = *(u32 *)(r1 +52)
r3 = map[bss][0]+0
r4 = 1
if r2 > 15 goto high
lock *(u64 *)(r3 +0) += r4
lock *(u64 *)(r3 +8) += r4
goto out
high: lock *(u64 *)(r3 +16) += r4
out: r0 = 0
exit
)",
     {},
     "may go both ways here, and then execute both, one after the other (1 and 2 accesses"},
    {"warps part, but no warp does",
     R"(
r2 = *(u32 *)(r1 +56)
r3 = map[bss][0]+0
r4 = 1
if r2 > 15 goto high
lock *(u64 *)(r3 +0) += r4
goto out
high: lock *(u64 *)(r3 +16) += r4
out: r0 = 0
exit
)",
     {}},
    {"a sample is taken, or not",
     R"(
call bpf_get_prandom_u32
r0 &= 63
if r0 != 0 goto out
r3 = map[bss][0]+0
r4 = 1
lock *(u64 *)(r3 +0) += r4
out: r0 = 0
exit
)",
     {}},
    {"a key is found, or dropped",
     R"(
r6 = *(u64 *)(r1 +176)
*(u64 *)(r10 -8) = r6
r1 = map[hash]
r2 = r10
r2 += -8
call bpf_map_lookup_elem
r1 = 1
if r0 == 0 goto full
lock *(u64 *)(r0 +0) += r1
goto out
full: r2 = map[bss][0]+0
lock *(u64 *)(r2 +0) += r1
out: r0 = 0
exit
)",
     {},
     nullptr,
     "gpu/ld.global"},
};

const char *name_of(Uniform label) {
  static constexpr const char *kNames[] = {"grid", "block", "warp", "lane"};
  return kNames[static_cast<size_t>(label)];
}

TEST(Uniformity, LabelsAndNotes) {
  for (const Case &c : kCases) {
    SCOPED_TRACE(c.name);
    auto program = make_program(c.text, c.event);
    ASSERT_TRUE(program) << program.error().message;
    auto facts = verify(*program, object());
    ASSERT_TRUE(facts) << facts.error().message;
    ASSERT_TRUE(facts->uniformity.complete);
    const Uniformity::Row &row = facts->uniform(0, facts->chains[0].end - 1);
    for (const char *label : c.labels) {
      auto reg = static_cast<size_t>(std::atoi(label + 1));
      EXPECT_EQ(format("r{} {}", reg, name_of(row.regs[reg])), label);
    }
    if (c.note)
      EXPECT_THAT(facts->notes, testing::ElementsAre(testing::HasSubstr(c.note)));
    else
      EXPECT_THAT(facts->notes, testing::IsEmpty());
  }
}

TEST(Uniformity, ControlOfAVaryingBranch) {
  auto program = make_program(R"(
r2 = *(u32 *)(r1 +52)
r0 = 0
if r2 > 15 goto out
r0 = 1
out: exit
)",
                              "gpu/entry");
  ASSERT_TRUE(program) << program.error().message;
  auto facts = verify(*program, object());
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->uniform(0, 2).control, Uniform::grid);
  EXPECT_EQ(facts->uniform(0, 3).control, Uniform::lane);
  EXPECT_EQ(facts->uniform(0, 4).control, Uniform::grid);
}

// A program of thousands of varying branches: given up in time, and said so.
TEST(Uniformity, HasABound) {
  std::string text = "r0 = 0\n";
  for (int i = 0; i < 3000; ++i)
    text += format("r2 = *(u64 *)(r1 +176)\nif r2 > 5 goto l{}\nr0 += 1\nl{}: r0 += 2\n", i, i);
  auto program = make_program(text + "exit\n", "gpu/ld");
  ASSERT_TRUE(program) << program.error().message;
  VerifyOptions options;
  options.max_insns = 100000;
  options.time_limit_ms = 0;
  auto facts = verify(*program, object(), options);
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_FALSE(facts->uniformity.complete);
  EXPECT_THAT(facts->notes, testing::IsEmpty());
}

}  // namespace
}  // namespace egpu::bpf::test
