// Patched kernels on the simulated GPU: every scope's programs run exactly as often as the
// launch says, whatever the threads do, and the kernel's own result is what it was.
#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "lib/sim/machine/machine.h"
#include "tests/ptx/support.h"

namespace egpu::ptx::test {
namespace {

constexpr uint32_t kThreads = 1 << 16;  // at most, of a launch: cells of the original's output

// Adds 1 to the counter of the probe and to that of its kind of cookie: an entry program
// leaves 77 in the cookie, an exit program counts whether it finds it.
Probe counting(const std::string &event_text, int counter) {
  Probe p = empty_probe(event_text);
  p.name = event_text;
  std::string at = std::to_string(16 * counter);
  p.body = "\t.reg .pred %p<2>;\n\tred.global.add.u64 [egpu_map_0+" + at + "], 1;\n";
  p.symbols = {"egpu_map_0", "egpu_cookie"};
  p.writes_cookie = true;
  if (p.event.kind == EventKind::entry)
    p.body += "\tmov.b64 egpu_cookie, 77;\n";
  else
    p.body += "\tsetp.eq.s64 %p1, egpu_cookie, 77;\n\t@%p1 red.global.add.u64 [egpu_map_0+" +
              std::to_string(16 * counter + 8) + "], 1;\n";
  return p;
}

constexpr const char *kScopes[] = {"thread", "warp", "block", "grid"};

// Every way out: a predicated exit, one in a called function, ret inside a divergent loop,
// and the end of the body. out[thread] = steps taken + 1.
constexpr const char *kLeaver = R"(.version 7.0
.target sm_80
.address_size 64
.func leave (.param .b32 x) {
	.reg .pred p; .reg .b32 v;
	ld.param.b32 v, [x];
	and.b32 v, v, 7;
	setp.eq.u32 p, v, 5;
	@p exit;
	ret;
}
.entry k(.param .u64 out, .param .u32 n) {
	.reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .param .b32 a;
	mov.u32 %r7, 0;
	mov.u32 %r1, %ctaid.y; mov.u32 %r2, %nctaid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r1, %r1, %r2, %r3;
	mov.u32 %r2, %ntid.x; mov.u32 %r3, %ntid.y; mul.lo.u32 %r4, %r2, %r3;
	mov.u32 %r3, %tid.y; mov.u32 %r5, %tid.x; mad.lo.u32 %r3, %r3, %r2, %r5;
	mad.lo.u32 %r1, %r1, %r4, %r3;
	ld.param.u32 %r6, [n];
	setp.ge.u32 %p1, %r1, %r6;
	@%p1 exit;
	ld.param.u64 %rd1, [out];
	mul.wide.u32 %rd2, %r1, 4;
	add.s64 %rd1, %rd1, %rd2;
	and.b32 %r8, %r1, 15;
again:
	add.u32 %r7, %r7, 1;
	st.global.u32 [%rd1], %r7;
	setp.eq.u32 %p2, %r7, 11;
	@%p2 ret;
	st.param.b32 [a], %r1;
	call leave, (a);
	setp.lt.u32 %p3, %r7, %r8;
	@%p3 bra again;
}
)";

struct LaunchRow {
  const char *name;
  std::array<uint32_t, 3> grid, block;
  uint32_t n;
};

void expect_exact_counts(const LaunchRow &row, BodyForm form) {
  std::vector<Probe> probes;
  for (int scope = 0; scope < 4; ++scope) {
    probes.push_back(counting(std::string(kScopes[scope]) + "/entry", 2 * scope));
    probes.push_back(counting(std::string(kScopes[scope]) + "/exit", 2 * scope + 1));
  }
  for (Probe &probe : probes) probe.form = form;
  auto p = plan(kLeaver, probes, 1);
  ASSERT_TRUE(p) << p.error().message;
  auto machine = sim::Machine::create({});
  uint64_t counters = machine->memory().allocate(16 * 8),
           slot = machine->memory().allocate(sizeof(LaunchSlot));
  uint64_t outputs[2] = {machine->memory().allocate(4 * kThreads), machine->memory().allocate(4 * kThreads)};
  for (uint64_t address : outputs) std::memset(reinterpret_cast<void *>(address), 0, 4 * kThreads);
  std::memset(reinterpret_cast<void *>(counters), 0, 16 * 8);
  std::memset(reinterpret_cast<void *>(slot), 0, sizeof(LaunchSlot));
  Bindings bindings;
  bindings.constants["egpu_map_0"] = counters;
  auto out = patch(*p, probes, bindings);
  ASSERT_TRUE(out) << out.error().message;
  ASSERT_EQ(out->kernels[0].refused, "");

  constexpr uint64_t kLaunches = 3;
  for (int patched = 0; patched < 2; ++patched) {
    auto module = machine->load(patched != 0 ? out->text : std::string(kLeaver));
    ASSERT_TRUE(module) << module.error().message << "\n" << out->text;
    sim::Launch launch;
    launch.module = *module;
    launch.kernel = "k";
    launch.grid = row.grid;
    launch.block = row.block;
    launch.parameters.resize(patched != 0 ? 32 : 12);
    std::memcpy(launch.parameters.data(), &outputs[patched], 8);
    std::memcpy(launch.parameters.data() + 8, &row.n, 4);
    if (patched != 0) std::memcpy(launch.parameters.data() + 24, &slot, 8);
    for (uint64_t i = 0; i < kLaunches; ++i) {
      sim::Fault fault{};
      auto ran = machine->run(launch, &fault);
      ASSERT_TRUE(ran) << ran.error().message << fault.message;
    }
  }
  EXPECT_EQ(
      std::memcmp(reinterpret_cast<void *>(outputs[0]), reinterpret_cast<void *>(outputs[1]), 4 * kThreads),
      0);

  uint64_t threads = uint64_t{row.block[0]} * row.block[1] * row.block[2];
  uint64_t blocks = uint64_t{row.grid[0]} * row.grid[1] * row.grid[2];
  const uint64_t expected[4] = {threads * blocks, (threads + 31) / 32 * blocks, blocks, 1};
  const uint64_t *c = reinterpret_cast<const uint64_t *>(counters);
  for (int scope = 0; scope < 4; ++scope) {
    EXPECT_EQ(c[4 * scope], expected[scope] * kLaunches) << kScopes[scope] << " entry";
    EXPECT_EQ(c[4 * scope + 2], expected[scope] * kLaunches) << kScopes[scope] << " exit";
    EXPECT_EQ(c[4 * scope + 3], expected[scope] * kLaunches) << kScopes[scope] << " cookie";
  }
  const auto *s = reinterpret_cast<const LaunchSlot *>(slot);
  EXPECT_EQ(s->blocks_done, 0u);
  EXPECT_EQ(s->cookie, 0u);
}

class Counts : public testing::TestWithParam<LaunchRow> {};
TEST_P(Counts, are_exact) { expect_exact_counts(GetParam(), BodyForm::in_line); }
TEST_P(Counts, are_exact_in_functions) { expect_exact_counts(GetParam(), BodyForm::called); }

INSTANTIATE_TEST_SUITE_P(Launches, Counts,
                         testing::Values(LaunchRow{"one_thread", {1, 1, 1}, {1, 1, 1}, 1},
                                         LaunchRow{"one_thread_blocks", {23, 1, 1}, {1, 1, 1}, 23},
                                         LaunchRow{"partial_warp", {7, 1, 1}, {31, 1, 1}, 200},
                                         LaunchRow{"warp_and_a_bit", {7, 1, 1}, {33, 1, 1}, 300},
                                         LaunchRow{"whole_blocks_leave_at_once", {11, 1, 1}, {64, 1, 1}, 100},
                                         LaunchRow{"all_leave_at_once", {3, 1, 1}, {97, 1, 1}, 0},
                                         LaunchRow{"planes", {3, 2, 1}, {7, 5, 1}, 190},
                                         LaunchRow{"cubes", {2, 3, 1}, {5, 3, 1}, 77},
                                         LaunchRow{"big_blocks", {5, 1, 1}, {1024, 1, 1}, 5000}),
                         [](const auto &row) { return std::string(row.param.name); });

// 13 loads and 7 stores in a loop that lanes leave at different times: `steps` of thread t is t % 5.
std::string many_sites() {
  std::string text =
      ".version 7.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 memory) {\n"
      "\t.reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;\n"
      "\tld.param.u64 %rd1, [memory];\n\tmov.u32 %r1, %tid.x;\n\trem.u32 %r2, %r1, 5;\n"
      "\tmul.wide.u32 %rd2, %r1, 16;\n\tadd.s64 %rd1, %rd1, %rd2;\n\tsetp.ne.u32 %p2, %r2, 3;\n"
      "again:\n\tsetp.eq.u32 %p1, %r2, 0;\n\t@%p1 bra done;\n";
  for (int i = 0; i < 13; ++i) text += "\tld.global.u16 %r3, [%rd1+" + std::to_string(2 * (i % 8)) + "];\n";
  for (int i = 0; i < 7; ++i)
    text += "\t@%p2 st.global.u32 [%rd1+" + std::to_string(4 * (i % 4)) + "], %r2;\n";
  return text + "\tsub.u32 %r2, %r2, 1;\n\tbra again;\ndone:\n\tret;\n}\n";
}

// Adds 1 at the site's word of the map, and beside it the access's size, low address bits, and the lanes that
// came together.
Probe by_site(const std::string &event_text, BodyForm form) {
  Probe p = empty_probe(event_text);
  p.name = event_text;
  p.form = form;
  p.body =
      "\t.reg .b64 %rd<5>;\n\t.reg .b32 %r1;\n"
      "\tmul.wide.u32 %rd1, egpu_site, 32;\n\tadd.s64 %rd1, %rd1, egpu_shard_0;\n"
      "\tred.global.add.u64 [%rd1], 1;\n\tcvt.u64.u32 %rd2, egpu_size;\n"
      "\tred.global.add.u64 [%rd1+8], %rd2;\n\tand.b64 %rd3, egpu_addr, 15;\n"
      "\tred.global.add.u64 [%rd1+16], %rd3;\n"
      "\tpopc.b32 %r1, egpu_active_mask;\n\tcvt.u64.u32 %rd4, %r1;\n"
      "\tred.global.add.u64 [%rd1+24], %rd4;\n";
  p.symbols = {"egpu_shard_0", "egpu_site", "egpu_size", "egpu_addr", "egpu_active_mask"};
  return p;
}

TEST(ManySites, count_the_same_in_line_and_in_functions) {
  constexpr uint32_t kBlocks = 7, kBlockThreads = 45, kSites = 3 * 20, kShards = 3, kWords = 4;
  constexpr uint64_t kShardBytes = 8 * kWords * kSites;
  const std::string text = many_sites();
  std::vector<uint64_t> counted[2];
  std::set<size_t> by_warp;  // how many lanes come together depends on the code around them
  for (BodyForm form : {BodyForm::in_line, BodyForm::called}) {
    std::vector<Probe> probes;
    for (const char *scope : {"thread", "warp", "block"})
      for (const char *what : {"ld", "st.global"})
        probes.push_back(by_site(std::string(scope) + "/" + what, form));
    auto p = plan(text, probes, 0);
    ASSERT_TRUE(p) << p.error().message;
    ASSERT_EQ(p->kernels[0].sites.size(), kSites);
    sim::DeviceConfig device;
    device.sm_count = 4;  // one more than there are copies
    auto machine = sim::Machine::create(device);
    uint64_t map = machine->memory().allocate(kShards * kShardBytes);
    uint64_t memory = machine->memory().allocate(16 * kBlockThreads);
    std::memset(reinterpret_cast<void *>(map), 0, kShards * kShardBytes);
    std::memset(reinterpret_cast<void *>(memory), 0, 16 * kBlockThreads);
    Bindings bindings;
    bindings.constants = {
        {"egpu_map_0", map}, {"egpu_stride_0", kShardBytes}, {"egpu_last_shard", kShards - 1}};
    auto out = patch(*p, probes, bindings);
    ASSERT_TRUE(out) << out.error().message;
    auto module = machine->load(out->text);
    ASSERT_TRUE(module) << module.error().message << "\n" << out->text;
    sim::Launch launch;
    launch.module = *module;
    launch.kernel = "k";
    launch.grid = {kBlocks, 1, 1};
    launch.block = {kBlockThreads, 1, 1};
    launch.parameters.resize(8);
    std::memcpy(launch.parameters.data(), &memory, 8);
    sim::Fault fault{};
    auto ran = machine->run(launch, &fault);
    ASSERT_TRUE(ran) << ran.error().message << fault.message;
    const auto *words = reinterpret_cast<const uint64_t *>(map);
    std::vector<uint64_t> &sums = counted[form == BodyForm::called];
    sums.resize(kWords * kSites);
    for (size_t i = 0; i < kShards * sums.size(); ++i) sums[i % sums.size()] += words[i];
    size_t used = 0;
    for (uint32_t s = 0; s < kShards; ++s) used += words[s * sums.size()] != 0;
    EXPECT_GE(used, 2u) << "copies of the map";

    for (const Site &site : out->kernels[0].sites) {
      const Probe &probe = probes[static_cast<size_t>(site.probe)];
      bool load = probe.event.mnemonic[0] == "ld";
      // Nine threads each take 0, 1, 2, 3, 4 steps; those that take 3 do not store.
      uint64_t steps = load ? 9 * (1 + 2 + 3 + 4) : 9 * (1 + 2 + 4);
      uint64_t executed = sums[kWords * site.id];
      if (probe.event.scope == Scope::thread) {
        EXPECT_EQ(executed, kBlocks * steps) << probe.name;
      } else if (probe.event.scope == Scope::warp) {
        by_warp.insert(site.id);
        EXPECT_GE(executed, kBlocks * 2u) << probe.name;
        EXPECT_EQ(sums[kWords * site.id + 3], kBlocks * steps) << probe.name << ": each lane once";
      } else {
        EXPECT_EQ(executed, 0u) << probe.name << ": thread 0 takes no step";
      }
      EXPECT_EQ(sums[kWords * site.id + 1], executed * (load ? 2 : 4)) << probe.name;
    }
  }
  for (size_t i = 0; i < counted[0].size(); ++i)
    EXPECT_TRUE(by_warp.count(i / kWords) != 0 || counted[0][i] == counted[1][i])
        << "site " << i / kWords << ", word " << i % kWords << ": " << counted[0][i] << ", " << counted[1][i];
}

}  // namespace
}  // namespace egpu::ptx::test
