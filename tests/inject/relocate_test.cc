#include "lib/loader/inject/relocate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

using namespace egpu::inject;
using egpu::session::EntryPoint;
using egpu::session::Hook;
using testing::HasSubstr;

namespace {

std::vector<uint8_t> from_hex(const std::string &text) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    bytes.push_back(static_cast<uint8_t>(std::stoul(text.substr(i, 2), nullptr, 16)));
    ++i;
  }
  return bytes;
}

std::string to_hex(const std::vector<uint8_t> &bytes) {
  std::string text;
  for (uint8_t b : bytes) {
    char pair[4];
    std::snprintf(pair, sizeof(pair), "%02x ", b);
    text += pair;
  }
  if (!text.empty()) text.pop_back();
  return text;
}

constexpr uint64_t kFrom = 0x7f0000001000, kNear = 0x7f0000000000, kFar = 0x7e0000000000;

struct Case {
  const char *name, *code;
  uint64_t to;
  size_t moved;
  const char *expected;
};

const Case kCases[] = {
    {"the driver's own prologue (facts.md)", "55 48 89 e5 41 54 48 83 ec 08 81 3d 10 20 30 00 aa bb cc dd",
     kNear, 6, "55 48 89 e5 41 54 e9 fb 0f 00 00"},
    {"far away: absolute jump back", "55 48 89 e5 41 54 48 83 ec 08", kFar, 6,
     "55 48 89 e5 41 54 ff 25 00 00 00 00 06 10 00 00 00 7f 00 00"},
    // cmp dword [rip+0x302010], imm: the displacement grows by from - to.
    {"rip-relative compare with an immediate", "81 3d 10 20 30 00 44 33 22 11 90", kNear, 10,
     "81 3d 10 30 30 00 44 33 22 11 e9 fb 0f 00 00"},
    {"rip-relative load", "90 48 8b 05 00 01 00 00 90", kNear, 8, "90 48 8b 05 00 11 00 00 e9 fb 0f 00 00"},
    {"rip-relative lea after endbr64", "f3 0f 1e fa 48 8d 3d f9 ff ff ff 90", kNear, 11,
     "f3 0f 1e fa 48 8d 3d f9 0f 00 00 e9 fb 0f 00 00"},
    {"vex-encoded rip-relative", "c5 f8 28 05 00 01 00 00 90", kNear, 8,
     "c5 f8 28 05 00 11 00 00 e9 fb 0f 00 00"},
    {"near call", "e8 00 01 00 00 90", kNear, 5, "e8 00 11 00 00 e9 fb 0f 00 00"},
    {"near call from far", "e8 00 01 00 00 90", kFar, 5,
     "ff 15 02 00 00 00 eb 08 05 11 00 00 00 7f 00 00 ff 25 00 00 00 00 05 10 00 00 00 7f 00 00"},
    {"near jump ends the function", "e9 00 01 00 00", kNear, 5, "e9 00 11 00 00"},
    {"short conditional jump", "85 ff 74 20 90 90", kNear, 5, "85 ff 0f 84 1c 10 00 00 90 e9 f7 0f 00 00"},
    {"near conditional jump", "0f 85 00 01 00 00 90", kNear, 6, "0f 85 00 11 00 00 e9 fb 0f 00 00"},
    {"short conditional jump from far", "85 ff 74 20 90 90", kFar, 5,
     "85 ff 75 0e ff 25 00 00 00 00 24 10 00 00 00 7f 00 00 90 ff 25 00 00 00 00 05 10 00 00 00 7f 00 00"},
    {"indirect call through memory", "ff 15 00 01 00 00 90", kNear, 6, "ff 15 00 11 00 00 e9 fb 0f 00 00"},
};

TEST(Relocate, MovesInstructions) {
  for (const Case &c : kCases) {
    auto code = from_hex(c.code);
    auto moved = relocate_code(code, kFrom, c.to);
    ASSERT_TRUE(moved) << c.name << ": " << moved.error().message;
    EXPECT_EQ(moved->moved_bytes, c.moved) << c.name;
    EXPECT_EQ(to_hex(moved->code), c.expected) << c.name;
  }
}

struct Refusal {
  const char *name, *code;
  uint64_t to;
  const char *error;
};

const Refusal kRefusals[] = {
    {"return at once", "c3 90 90 90 90 90", kNear, "function is shorter than a jump"},
    {"xor and return", "31 c0 c3 66 90 90", kNear, "function is shorter than a jump"},
    {"short jump at once", "eb 20 90 90 90 90", kNear, "function is shorter than a jump"},
    {"breakpoint", "cc 48 89 e5 41 54", kNear, "a debugger's breakpoint is there"},
    {"jrcxz", "e3 10 90 90 90 90", kNear, "instruction cannot be moved: jrcxz"},
    {"loop", "90 e2 10 90 90 90", kNear, "instruction cannot be moved: loop"},
    {"jump into the first bytes", "90 90 90 75 fc 90", kNear, "code branches into its first instructions"},
    {"loop back from later", "90 90 90 90 90 90 90 75 f9", kNear,
     "code branches into its first instructions"},
    {"not an instruction", "06 06 06 06 06 06", kNear, "instruction at +0 is not understood"},
    {"cut off", "55 48 89", kNear, "instruction at +1 is not understood"},
    {"rip-relative from far", "48 8b 05 00 01 00 00", kFar,
     "data at 0x7f0000001107 is over 2 GiB from the trampoline"},
};

TEST(Relocate, RefusesWhatItCannotMove) {
  for (const Refusal &r : kRefusals) {
    auto moved = relocate_code(from_hex(r.code), kFrom, r.to);
    ASSERT_FALSE(moved) << r.name;
    EXPECT_EQ(moved.error().message, r.error) << r.name;
  }
}

EntryPoint entry_at(uint64_t address, uint64_t replacement, uint64_t trampoline, const std::string &code) {
  EntryPoint entry{};
  entry.address = address;
  entry.replacement = replacement;
  entry.trampoline = trampoline;
  std::memset(entry.code, 0x90, sizeof(entry.code));
  auto bytes = from_hex(code);
  std::memcpy(entry.code, bytes.data(), bytes.size());
  return entry;
}

constexpr const char *kPrologue = "55 48 89 e5 41 54 48 83 ec 08";

TEST(Relocate, HookJumpsDirectlyWhenNear) {
  auto hook = relocate(entry_at(kFrom, kFrom + 0x10000, kNear, kPrologue));
  ASSERT_TRUE(hook) << hook.error().message;
  EXPECT_EQ(hook->ok, 1u);
  EXPECT_EQ(hook->written, 0u);
  EXPECT_EQ(hook->original, 0x8348'5441'e589'4855u);
  EXPECT_EQ(hook->jump, 0x8348'5400'00ff'fbe9u);  // e9 fb ff 00 00, then 54 48 83 as before
}

TEST(Relocate, HookGoesThroughTheStubWhenFar) {
  auto hook = relocate(entry_at(kFrom, 0x1234567890, kNear, kPrologue));
  ASSERT_TRUE(hook) << hook.error().message;
  int32_t rel;
  std::memcpy(&rel, reinterpret_cast<const char *>(&hook->jump) + 1, 4);
  EXPECT_EQ(kFrom + 5 + static_cast<uint64_t>(static_cast<int64_t>(rel)), kNear + kStubOffset);
  EXPECT_EQ(to_hex({hook->trampoline + kStubOffset, hook->trampoline + 64}),
            "ff 25 00 00 00 00 90 78 56 34 12 00 00 00");
}

TEST(Relocate, HookRefuses) {
  auto far = relocate(entry_at(kFrom, 0x1234567890, kFar, kPrologue));
  ASSERT_FALSE(far);
  EXPECT_EQ(far.error().message, "the agent has no memory within 2 GiB of the entry point");
  auto line = relocate(entry_at(kFrom + 60, kFrom + 0x10000, kNear, kPrologue));
  ASSERT_FALSE(line);
  EXPECT_THAT(line.error().message, HasSubstr("crosses a cache line"));
}

// Functions of this program, run hooked: each begins with another kind of instruction.
extern "C" {
int relocate_test_global = 5;
__attribute__((noinline, used)) int relocate_test_helper(int x) { return x * 3; }
int relocate_test_rip(int);
int relocate_test_call(int);
int relocate_test_branch(int);
}
asm(R"(
  .text
  .balign 16
  .globl relocate_test_rip
relocate_test_rip:
  cmpl $5, relocate_test_global(%rip)
  mov $1, %eax
  cmove %edi, %eax
  ret
  .balign 16
  .globl relocate_test_call
relocate_test_call:
  push %rbp
  nop
  call relocate_test_helper
  pop %rbp
  ret
  .balign 16
  .globl relocate_test_branch
relocate_test_branch:
  test %edi, %edi
  js 1f
  lea 7(%rdi), %eax
  ret
1: mov $-1, %eax
  ret
)");

using Function = int (*)(int);
Function original_function;
int calls;
int replacement(int x) {
  ++calls;
  return original_function(x) + 1000;
}

TEST(Relocate, HookedFunctionsRun) {
  void *area = ::mmap(
      reinterpret_cast<void *>((reinterpret_cast<uint64_t>(&relocate_test_rip) & ~0xfffull) - 0x4000000),
      4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(area, MAP_FAILED);
  struct Run {
    Function function;
    int argument, result;
  };
  const Run kRuns[] = {{relocate_test_rip, 77, 77},
                       {relocate_test_call, 14, 42},
                       {relocate_test_branch, 3, 10},
                       {relocate_test_branch, -3, -1}};
  for (bool far : {false, true}) {
    for (const Run &run : kRuns) {
      auto address = reinterpret_cast<uint64_t>(run.function);
      EntryPoint entry{};
      entry.address = address;
      entry.replacement = reinterpret_cast<uint64_t>(&replacement);
      if (far) {  // through a page anywhere, over 2 GiB away: the stub is used
        static void *distant = ::mmap(reinterpret_cast<void *>(0x200000000000), 4096,
                                      PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uint8_t code[] = {0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xe0};  // mov rax, replacement; jmp rax
        std::memcpy(code + 2, &entry.replacement, 8);
        std::memcpy(distant, code, sizeof(code));
        entry.replacement = reinterpret_cast<uint64_t>(distant);
      }
      entry.trampoline = reinterpret_cast<uint64_t>(area);
      std::memcpy(entry.code, reinterpret_cast<const void *>(address), sizeof(entry.code));
      auto hook = relocate(entry);
      ASSERT_TRUE(hook) << hook.error().message;
      std::memcpy(area, hook->trampoline, sizeof(hook->trampoline));
      original_function = reinterpret_cast<Function>(area);
      EXPECT_EQ(original_function(run.argument), run.result);
      auto *page = reinterpret_cast<void *>(address & ~0xfffull);
      ASSERT_EQ(::mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
      auto *word = reinterpret_cast<uint64_t *>(address);
      __atomic_store_n(word, hook->jump, __ATOMIC_SEQ_CST);
      calls = 0;
      EXPECT_EQ(run.function(run.argument), run.result + 1000);
      EXPECT_EQ(calls, 1);
      __atomic_store_n(word, hook->original, __ATOMIC_SEQ_CST);
      EXPECT_EQ(run.function(run.argument), run.result);
      EXPECT_EQ(calls, 1);
      ::mprotect(page, 8192, PROT_READ | PROT_EXEC);
    }
  }
}

}  // namespace
