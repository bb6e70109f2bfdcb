// egpu-map as a user calls it: command line in; stdout, stderr and status out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "tests/egpu-map/fake_session.h"
#include "tools/egpu-map/key.h"

namespace egpu::map_tool {
namespace {

using map::add_u64;
using map::find_map;
using map::insert_key;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class EgpuMapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/dev/shm/egpu-map-test-XXXXXX";
    ASSERT_NE(mkdtemp(pattern), nullptr);
    runtime_ = pattern;
    setenv("EGPU_RUNTIME_DIR", pattern, 1);
    setenv("NO_COLOR", "1", 1);
  }
  void TearDown() override { std::filesystem::remove_all(runtime_); }

  Outcome tool(const std::string &arguments) {
    return run_command(std::string(EGPU_BINARY_DIR "/bin/egpu-map ") + arguments);
  }
  // Contents of a probe's maps: 23 and 7 launches, and so on.
  std::optional<map::Snapshot> contents(const std::string &probe) {
    if (!map::have_clang()) return std::nullopt;
    static std::map<std::string, bpf::Object> compiled;
    if (compiled.count(probe) == 0) {
      auto object = map::compile_for_test(probe);
      if (!object) return std::nullopt;
      object->name = probe + ".bpf.o";
      compiled[probe] = *std::move(object);
    }
    map::Snapshot s = map::fake_snapshot(compiled[probe], 3);
    s.kernels[1] = {"_Z6vecaddIfEvPT_", "void ns::vecadd<float>(float*)"};
    s.kernels[2] = {"_Z6reducePf", "reduce(float*)"};
    s.sites[7] = {2, "reduce.cu:12"};
    if (auto *m = find_map(&s, "launches")) {
      add_u64(m, insert_key(m, uint32_t{1}), 0, 0, 20), add_u64(m, insert_key(m, uint32_t{1}), 2, 0, 3);
      add_u64(m, insert_key(m, uint32_t{2}), 1, 0, 7);
    }
    if (auto *m = find_map(&s, "duration")) add_u64(m, 0, 1, 8 * 10, 161), add_u64(m, 0, 2, 8 * 11, 2);
    if (auto *m = find_map(&s, "branches")) add_u64(m, insert_key(m, uint32_t{7}), 0, 0, 5);
    if (auto *m = find_map(&s, "heat")) add_u64(m, insert_key(m, uint64_t{0x7f0000010000}), 0, 16, 64);
    if (auto *m = find_map(&s, "sms")) add_u64(m, 2, 0, 0, 11), add_u64(m, 2, 0, 8, 1000);
    if (auto *m = find_map(&s, ".bss")) add_u64(m, 0, 0, 0, 3);
    return s;
  }
  std::string runtime_;
};

#define CONTENTS(variable, probe)                                      \
  auto variable = contents(probe);                                     \
  if (!map::have_clang()) GTEST_SKIP() << "clang-19 is not installed"; \
  ASSERT_TRUE(variable)

TEST_F(EgpuMapTest, NoSession) {
  for (const char *command : {"list", "dump", "dump x", "lookup x 1", "watch x", "list -j"}) {
    Outcome run = tool(command);
    EXPECT_EQ(run.status, 1) << command;
    EXPECT_EQ(run.out, "") << command;
    EXPECT_EQ(run.err,
              "egpu-map: error: no live session\n"
              "egpu-map: hint: start one: `egpu-load PROBE -- COMMAND`, or `egpu-load --pid PID PROBE`\n");
  }
  Outcome run = tool("metrics");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.out, HasSubstr("\negpu_sessions 0\n"));
}

TEST_F(EgpuMapTest, Usage) {
  struct Row {
    const char *arguments;
    int status;
    const char *out, *err;  // substrings
  };
  const Row rows[] = {
      {"--help", 0, "list", ""},
      {"--version", 0, "egpu-map ", ""},
      {"dump --help", 0, "--sort", ""},
      {"", 2, "", "egpu-map: error: no command given\n"},
      {"--jason list", 2, "", "egpu-map: error: "},
      {"lits", 2, "", "egpu-map: error: no command 'lits'\negpu-map: hint: did you mean 'list'?\n"},
      {"--color never xyz", 2, "", "egpu-map: error: no command 'xyz'\n"},
      {"-j metrics", 2, "", "egpu-map: error: --json: metrics has no JSON form\n"},
      {"lookup m", 2, "", "KEY is required"},
      {"watch m -i 0", 2, "", "egpu-map: error: "},
      {"watch m -i x", 2, "", "egpu-map: error: "},
      {"dump --sort=size", 2, "", "egpu-map: error: "},
      {"dump --so=key", 2, "", "egpu-map: error: "},
      {"--color=red list", 2, "", "egpu-map: error: "},
      {"update m 1 2", 1, "", "egpu-map: error: update: not supported yet\n"},
      {"clear m", 1, "", "egpu-map: error: clear: not supported yet\n"},
  };
  for (const Row &row : rows) {
    Outcome run = tool(row.arguments);
    EXPECT_EQ(run.status, row.status) << row.arguments << run.err;
    EXPECT_THAT(run.out, HasSubstr(row.out)) << row.arguments;
    EXPECT_THAT(run.err, HasSubstr(row.err)) << row.arguments;
    if (row.status != 0) {
      EXPECT_EQ(run.out, "") << row.arguments;
    }
  }
}

TEST_F(EgpuMapTest, Dump) {
  CONTENTS(snapshot, "kcount");
  FakeSession session(4711, *snapshot);
  ASSERT_TRUE(session.ok());
  const char *table =
      "launches, 2 entries\n"
      "  kernel                          launches\n"
      "  void ns::vecadd<float>(float*)        23\n"
      "  reduce(float*)                         7\n";
  for (const char *command : {"dump", "dump launches", "dump 4711:launches", "dump --color=never"}) {
    Outcome run = tool(command);
    EXPECT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(run.out, table) << command;
    EXPECT_EQ(run.err, "") << command;
  }
  Outcome by_key = tool("dump --sort=key launches");
  EXPECT_LT(by_key.out.find("reduce"), by_key.out.find("vecadd")) << by_key.out;
  Outcome verbose = tool("-v dump launches");
  EXPECT_THAT(verbose.err, HasSubstr("egpu-map: note: process 4711: data is "));
  Outcome colored = tool("dump --color=always");
  EXPECT_THAT(colored.out, HasSubstr("\033[1m"));

  Outcome run = tool("-j dump launches");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(json::parse(tool("dump -j launches").out)[0]["entries"], json::parse(run.out)[0]["entries"]);
  json out = json::parse(run.out);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0]["map"], "launches");
  EXPECT_EQ(out[0]["pid"], 4711);
  EXPECT_LT(out[0]["age_ms"], 60000);
  EXPECT_EQ(out[0]["entries"][0]["value"], 23);
  EXPECT_EQ(out[0]["entries"][0]["key"]["kernel"], "void ns::vecadd<float>(float*)");
}

TEST_F(EgpuMapTest, UnknownAndAmbiguousMaps) {
  CONTENTS(snapshot, "kcount");
  FakeSession session(4711, *snapshot);
  CONTENTS(duration, "blockdur");
  FakeSession other(815, *duration);
  Outcome run = tool("dump lunches");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err,
            "egpu-map: error: no map 'lunches'\n"
            "egpu-map: hint: did you mean 'launches'?\n"
            "egpu-map: hint: there are: 815:duration, 4711:launches\n");
  run = tool("dump 9:launches");
  EXPECT_EQ(run.err,
            "egpu-map: error: no session of process 9\n"
            "egpu-map: hint: there are: 815:duration, 4711:launches\n");
  run = tool("dump 815:launches");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.err, HasSubstr("no map 'launches'"));
  {
    FakeSession third(4712, *snapshot);
    run = tool("dump launches");
    EXPECT_EQ(run.status, 1);
    EXPECT_EQ(run.err,
              "egpu-map: error: map 'launches' is in several sessions\n"
              "egpu-map: hint: say PID:NAME: 4711:launches, 4712:launches\n");
    EXPECT_EQ(tool("dump 4712:launches").status, 0);
    run = tool("dump");
    EXPECT_EQ(run.status, 0);
    EXPECT_THAT(run.out, StartsWith("815:duration (ns), 163 values\n"));
    EXPECT_THAT(run.out, HasSubstr("\n4711:launches, 2 entries\n"));
    EXPECT_THAT(run.out, HasSubstr("\n4712:launches, 2 entries\n"));
    EXPECT_EQ(json::parse(tool("dump -j").out).size(), 3u);
  }
  EXPECT_EQ(tool("dump launches").status, 0);
}

TEST_F(EgpuMapTest, List) {
  CONTENTS(snapshot, "memheat");
  FakeSession session(4711, *snapshot);
  Outcome run = tool("list");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith(" PID  COMMAND   PROBE          MAP   TYPE   ENTRIES  KEY         VALUE"));
  EXPECT_THAT(run.out,
              HasSubstr("\n4711  ./vecadd  memheat.bpf.o  heat  hash   1/65536  gpu_addr_t  struct heat"));
  EXPECT_THAT(run.out, HasSubstr("memheat.bpf.o  .bss  array        1              variables"));
  EXPECT_THAT(run.out, Not(HasSubstr(".rodata")));
  EXPECT_THAT(tool("list --all").out, HasSubstr(".rodata"));
  json out = json::parse(tool("list -j").out);
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0]["map"], "heat");
  EXPECT_EQ(out[0]["entries"], 1);
  EXPECT_EQ(out[0]["max_entries"], 65536);
  EXPECT_EQ(out[0]["device"], "Test GPU");
}

TEST_F(EgpuMapTest, Lookup) {
  CONTENTS(kcount, "kcount");
  FakeSession a(1, *kcount);
  CONTENTS(diverge, "diverge");
  FakeSession b(2, *diverge);
  CONTENTS(memheat, "memheat");
  FakeSession c(3, *memheat);
  CONTENTS(smload, "smload");
  FakeSession d(4, *smload);
  struct Row {
    const char *arguments;
    int status;
    const char *out, *err;
  };
  const Row rows[] = {
      {"launches 1", 0, " 23\n", ""},
      {"launches 'void ns::vecadd<float>(float*)'", 0, " 23\n", ""},
      {"launches reduce", 0, " 7\n", ""},
      {"launches 'reduce(float*)'", 0, " 7\n", ""},
      {"launches _Z6reducePf", 0, " 7\n", ""},
      {"launches nothing", 1, "", "egpu-map: error: map 'launches' has no entry with key 'nothing'\n"},
      {"launches 77", 1, "", "no entry with key '77'"},
      {"branches reduce.cu:12", 0, "reduce.cu:12         5          0\n", ""},
      {"heat 0x7f0000010000", 0, "64\n", ""},
      {"heat 139637976793088", 0, "64\n", ""},
      {"heat page", 1, "", "egpu-map: error: map 'heat': not a number: 'page'\n"},
      {"sms 2", 0, "   2      11     1000\n", ""},
      {"sms 3", 0, "   3       0        0\n", ""},
      {"sms 256", 1, "", "no entry"},
      {".bss 0", 0, "dropped = 3\n", ""},
  };
  for (const Row &row : rows) {
    Outcome run = tool(std::string("lookup ") + row.arguments);
    EXPECT_EQ(run.status, row.status) << row.arguments << run.err;
    EXPECT_THAT(run.out, HasSubstr(row.out)) << row.arguments;
    EXPECT_THAT(run.err, HasSubstr(row.err)) << row.arguments;
  }
  json out = json::parse(tool("lookup -j launches reduce").out);
  ASSERT_EQ(out[0]["entries"].size(), 1u);
  EXPECT_EQ(out[0]["entries"][0]["value"], 7);
}

TEST_F(EgpuMapTest, WatchShowsWhatWasAdded) {
  CONTENTS(snapshot, "kcount");
  int round = 0;
  FakeSession session(4711, *snapshot, FakeSession::Answer::snapshot, [&](map::Snapshot *s) {
    auto *m = find_map(s, "launches");
    if (round++ > 0) add_u64(m, insert_key(m, uint32_t{2}), 0, 0, 5);
  });
  Outcome run = tool("watch launches -i 0.05 -n 3");
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("  kernel                          launches  +launches\n"
                                 "  void ns::vecadd<float>(float*)        23          0\n"
                                 "  reduce(float*)                         7          0\n"));
  EXPECT_THAT(run.out, HasSubstr("  reduce(float*)                        12          5\n"));
  EXPECT_THAT(run.out, HasSubstr("  reduce(float*)                        17          5\n"));
}

TEST_F(EgpuMapTest, WatchOfHistogramsAndStructs) {
  CONTENTS(snapshot, "blockdur");
  int round = 0;
  FakeSession session(4711, *snapshot, FakeSession::Answer::snapshot, [&](map::Snapshot *s) {
    if (round++ > 0) add_u64(find_map(s, "duration"), 0, 0, 8 * 11, 4);
  });
  Outcome run = tool("watch duration -i 0.05 -n 2");
  EXPECT_THAT(run.out, HasSubstr("  values = 163\n  +values = 0\n  duration (ns)\n    [512, 1K)  161 |@"));
  EXPECT_THAT(run.out, HasSubstr("  values = 167\n  +values = 4\n"));
  CONTENTS(smload, "smload");
  FakeSession other(4712, *smload);
  run = tool("watch sms -i 0.05 -n 1");
  EXPECT_THAT(run.out, HasSubstr("  sm  blocks  +blocks  busy_ns  +busy_ns\n"));
}

TEST_F(EgpuMapTest, WatchEndsWithTheSession) {
  CONTENTS(snapshot, "kcount");
  auto session = std::make_unique<FakeSession>(4711, *snapshot);
  std::thread ender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    session.reset();
  });
  Outcome run = tool("watch launches -i 0.1");
  ender.join();
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("egpu-map: note: the session of process 4711 has ended\n"));
}

TEST_F(EgpuMapTest, Metrics) {
  CONTENTS(kcount, "kcount");
  FakeSession a(1, *kcount);
  CONTENTS(blockdur, "blockdur");
  FakeSession b(2, *blockdur);
  CONTENTS(smload, "smload");
  FakeSession c(3, *smload);
  Outcome run = tool("metrics");
  EXPECT_EQ(run.status, 0) << run.err;
  for (const char *expected : {
           "# TYPE egpu_launches_total counter\n",
           "egpu_launches_total{pid=\"1\",kernel=\"void ns::vecadd<float>(float*)\"} 23\n",
           "# TYPE egpu_duration_ns histogram\n",
           "egpu_duration_ns_bucket{pid=\"2\",le=\"1023\"} 161\n",
           "egpu_duration_ns_bucket{pid=\"2\",le=\"2047\"} 163\n",
           "egpu_duration_ns_bucket{pid=\"2\",le=\"+Inf\"} 163\n",
           "egpu_duration_ns_count{pid=\"2\"} 163\n",
           "egpu_sms_busy_ns_total{pid=\"3\",sm=\"2\"} 1000\n",
           "egpu_map_dropped_total{pid=\"1\",map=\"launches\"} 0\n",
           "egpu_sessions 3\n",
       })
    EXPECT_THAT(run.out, HasSubstr(expected));
}

TEST_F(EgpuMapTest, SessionsThatDoNotAnswer) {
  CONTENTS(snapshot, "kcount");
  {
    FakeSession session(4711, *snapshot, FakeSession::Answer::refuse);
    Outcome run = tool("dump launches");
    EXPECT_EQ(run.status, 0);
    EXPECT_THAT(run.out, HasSubstr(" 23\n"));
    EXPECT_THAT(
        run.err,
        HasSubstr("egpu-map: warning: no fresh data: session of process 4711: the target does not answer\n"));
    EXPECT_THAT(run.err, HasSubstr("egpu-map: note: process 4711: data is "));
  }
  FakeSession session(4711, *snapshot, FakeSession::Answer::never);
  Outcome run = tool("dump launches");
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.err, HasSubstr("no answer after 2000 ms"));
}

TEST_F(EgpuMapTest, DamagedFileOfOneSessionDoesNotHideTheOther) {
  CONTENTS(snapshot, "kcount");
  FakeSession good(4711, *snapshot), bad(815, *snapshot, FakeSession::Answer::refuse);  // writes no more
  ASSERT_EQ(truncate(bad.path().c_str(), 5000), 0);
  Outcome run = tool("dump");
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, HasSubstr("reduce(float*)"));
  EXPECT_THAT(run.err, HasSubstr("egpu-map: error: " + bad.path() + ": has 5000 bytes instead of"));
}

TEST_F(EgpuMapTest, StdoutThatFails) {
  CONTENTS(snapshot, "kcount");
  FakeSession session(4711, *snapshot);
  for (const char *command :
       {"dump >/dev/full", "list >/dev/full", "metrics >/dev/full", "lookup launches 1 >/dev/full",
        "watch launches -n 1 >/dev/full", "dump -j >/dev/full"}) {
    Outcome run = tool(command);
    EXPECT_EQ(run.status, 1) << command;
    EXPECT_EQ(run.err, "egpu-map: error: stdout: No space left on device\n") << command;
  }
  Outcome run = tool("dump >&-");
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err, "egpu-map: error: stdout: Bad file descriptor\n");
  run = run_command("{ " EGPU_BINARY_DIR
                    "/bin/egpu-map watch launches -i 0.05 -n 100; echo $? >&2; } | head -n 1");
  EXPECT_EQ(run.err, "1\n");  // a closed pipe is nothing to talk about
}

TEST_F(EgpuMapTest, RingsAreNotDumped) {
  CONTENTS(snapshot, "kcount");
  map::MapData ring;
  ring.spec.name = "printk", ring.spec.internal = true, ring.spec.shape = {map::Type::ringbuf, 0, 0, 4};
  ring.block.resize(map::block_bytes(ring.spec.shape, 1));
  snapshot->maps.push_back(ring);
  FakeSession session(4711, *snapshot);
  EXPECT_EQ(tool("dump printk").status, 1);
  EXPECT_THAT(tool("dump printk").err, HasSubstr("'printk' is a ring buffer"));
  EXPECT_THAT(tool("dump --all").out, Not(HasSubstr("printk")));
}

TEST(Key, KernelNames) {
  EXPECT_EQ(without_parameters("ns::vecadd<float, 4>(float*)"), "ns::vecadd<float, 4>");
  EXPECT_EQ(without_parameters("(anonymous namespace)::k(void (*)(int))"), "(anonymous namespace)::k");
  EXPECT_EQ(without_parameters("k"), "k");
  EXPECT_EQ(without_template_arguments("ns::vecadd<float, 4>"), "ns::vecadd");
}

TEST(Key, Structs) {
  map::Snapshot names;
  print::Value key, a, b;
  a.number = 5;
  b.kind = print::Value::Kind::kernel, b.text = "k(int)", b.number = 2;
  key.kind = print::Value::Kind::record;
  key.fields = {{"a", a}, {"b", b}};
  struct Row {
    const char *text;
    int expected;  // -1: an Error
  };
  const Row rows[] = {{R"({"a":5,"b":"k"})", 1},
                      {R"({"a":5})", 1},
                      {R"({"a":4,"b":"k"})", 0},
                      {R"({"b":2})", 1},
                      {"{}", 1},
                      {R"({"c":5})", -1},
                      {"5", -1},
                      {"{", -1},
                      {R"({"a":"x"})", -1},
                      {R"({"a":"0x5"})", 1}};
  for (const Row &row : rows) {
    auto result = key_matches(names, key, row.text);
    EXPECT_EQ(result ? static_cast<int>(*result) : -1, row.expected) << row.text;
  }
}

}  // namespace
}  // namespace egpu::map_tool
