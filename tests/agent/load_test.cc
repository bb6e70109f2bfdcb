// Maps, globals, images and patched modules, the wrong ones too.
#include <gmock/gmock.h>
#include <unistd.h>

#include "tests/agent/agent.h"

namespace agent_test {

TEST_F(Agent, MapsAreZeroedAndFilled) {
  Options options;
  uint64_t first = 41;
  options.initial.assign(reinterpret_cast<char *>(&first), sizeof first);
  Session session(protocol::kAttach, options);
  attach(session);
  warm_up(function("probe_a"), "probe_a");
  EXPECT_EQ(session.snapshot_word(), 41 + fake_->launch_count("probe_a", true));
  session.detach();
}

TEST_F(Agent, GlobalsAreLookedUp) {
  Session session(protocol::kAttach);
  attach(session);
  ASSERT_EQ(launch(function("probe_a")), 0);
  session.take(Kind::context);
  std::string message;
  protocol::WantGlobals want{reinterpret_cast<uint64_t>(module_), reinterpret_cast<uint64_t>(context_), 0, 2};
  message.append(reinterpret_cast<char *>(&want), sizeof want);
  message.append("counter\0missing\0", 16);
  session.send(Kind::want_globals, message.data(), message.size());
  Message globals = session.take(Kind::globals);
  EXPECT_EQ(globals.fixed<protocol::Globals>().count, 2u);
  EXPECT_EQ(globals.words<protocol::Globals>(), (std::vector<uint64_t>{0x7000, 0}));
  // More names than there are: an error, not a read past the packet.
  want.count = 1000;
  session.send(Kind::want_globals, &want, sizeof want);
  EXPECT_NE(session.take(Kind::warning).text(), "");
  session.detach();
}

TEST_F(Agent, FailuresRunTheOriginalAndAreToldOnce) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction f = function("probe_a");
  warm_up(f, "probe_a");
  fake_->fail_patched(701);
  uint64_t before = fake_->launch_count("probe_a", false);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch(f), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", false), before + 3);
  EXPECT_THAT(session.take(Kind::warning).text(), testing::HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"));
  session.snapshot_word();  // whatever was said before is here
  EXPECT_FALSE(session.saw(Kind::warning));
  session.detach();
}

TEST_F(Agent, CompileErrorsKeepTheOriginal) {
  Options options;
  options.broken_ptx = true;
  Session session(protocol::kAttach, options);
  attach(session);
  CUfunction f = function("probe_a");
  ASSERT_EQ(launch(f), 0);
  Message loaded = session.take(Kind::loaded);
  EXPECT_EQ(loaded.fixed<protocol::Loaded>().ok, 0u);
  EXPECT_THAT(loaded.text<protocol::Loaded>(), testing::HasSubstr("BROKEN"));
  ASSERT_EQ(launch(f), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", false), 2u);
  session.detach();
}

TEST_F(Agent, HostileLoadsAreRefused) {
  Options options;
  options.answer_kernels = false;
  Session session(protocol::kAttach, options);
  attach(session);
  ASSERT_EQ(launch(function("probe_a")), 0);
  session.take(Kind::kernel);
  struct Case {
    const char *name;
    protocol::LoadModule module;
    protocol::LoadKernel kernel;
  };
  uint64_t f = reinterpret_cast<uint64_t>(function("probe_a"));
  const uint64_t text = sizeof(protocol::LoadModule) + sizeof(protocol::LoadKernel);
  const Case cases[] = {
      {"text outside", {text + 100, 4}, {f, text, 0, 0, 3, 24}},
      {"text wraps", {text, UINT64_MAX}, {f, text, 0, 0, 3, 24}},
      {"text empty", {text, 0}, {f, text, 0, 0, 3, 24}},
      {"name outside", {text, 4}, {f, UINT64_MAX, 0, 0, 3, 24}},
      {"module out of range", {text, 4}, {f, text, 1, 0, 3, 24}},
      {"too many parameters", {text, 4}, {f, text, 0, 0, UINT32_MAX, 24}},
      {"parameters too big", {text, 4}, {f, text, 0, 0, 3, UINT32_MAX}},
  };
  protocol::Load load{reinterpret_cast<uint64_t>(context_), 1, 1};
  for (const Case &c : cases) {
    SCOPED_TRACE(c.name);
    char path[] = "/tmp/egpu-agent-load-XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    ASSERT_EQ(write(fd, &c.module, sizeof c.module), static_cast<ssize_t>(sizeof c.module));
    ASSERT_EQ(write(fd, &c.kernel, sizeof c.kernel), static_cast<ssize_t>(sizeof c.kernel));
    ASSERT_EQ(write(fd, "abc", 4), 4);
    session.send(Kind::load, &load, sizeof load, fd);
    close(fd);
    EXPECT_THAT(session.take(Kind::warning).text(), testing::StartsWith("load: "));
    EXPECT_EQ(session.take(Kind::loaded).fixed<protocol::Loaded>().ok, 0u);
  }
  protocol::Load huge{reinterpret_cast<uint64_t>(context_), UINT32_MAX, UINT32_MAX};
  session.send(Kind::load, &huge, sizeof huge);
  EXPECT_THAT(session.take(Kind::warning).text(), testing::StartsWith("load: "));
  for (Kind kind : {Kind::maps, Kind::load, Kind::want_globals, Kind::ring_tail}) session.send(kind, "x", 1);
  session.send(static_cast<Kind>(9999));
  session.take(Kind::warning);
  ASSERT_EQ(launch(function("probe_a")), 0);
  session.detach();
}

TEST_F(Agent, ImagesCarryTheirPtxOnly) {
  Session session(protocol::kAttach);
  attach(session);
  auto read = [](const Message &m) {
    std::string bytes(1 << 16, '\0');
    ssize_t got = pread(m.fd, bytes.data(), bytes.size(), 0);
    bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
    close(m.fd);
    return bytes;
  };
  auto load = [&](const void *image) {
    CUmodule module;
    EXPECT_EQ(cuModuleLoadData(&module, image), 0);
    Message m = session.take(Kind::image);
    EXPECT_EQ(m.fixed<protocol::Image>().module, reinterpret_cast<uint64_t>(module));
    cuModuleUnload(module);
    return m;
  };
  Message text = load(kModule);
  EXPECT_EQ(text.fixed<protocol::Image>().form, protocol::kPtxText);
  EXPECT_EQ(read(text), std::string(kModule, sizeof kModule));

  // A fatbin of an ELF and two PTX entries (cuda-formats.md, section 6).
  auto entry = [](uint16_t kind, const std::string &payload) {
    std::string bytes(64, '\0');
    uint16_t version = 0x101;
    uint32_t header = 64;
    uint64_t size = payload.size();
    memcpy(&bytes[0], &kind, 2);
    memcpy(&bytes[2], &version, 2);
    memcpy(&bytes[4], &header, 4);
    memcpy(&bytes[8], &size, 8);
    return bytes + payload;
  };
  auto fatbin = [](const std::string &body) {
    std::string bytes("\x50\xed\x55\xba\x01\x00\x10\x00", 8);
    uint64_t size = body.size();
    bytes.append(reinterpret_cast<char *>(&size), 8);
    return bytes + body;
  };
  std::string ptx1 = entry(1, "ptx one "), ptx2 = entry(1, "ptx two.........");
  std::string all = fatbin(entry(2, std::string(4096, 'x')) + ptx1 + ptx2);
  Message bare = load(all.data());
  EXPECT_EQ(bare.fixed<protocol::Image>().form, protocol::kFatbin);
  EXPECT_EQ(read(bare), fatbin(ptx1 + ptx2));

  struct Wrapper {
    uint32_t magic, version;
    const void *data;
    const void *const *more;
  } wrapper{0x466243b1, 1, all.data(), nullptr};
  EXPECT_EQ(read(load(&wrapper)), fatbin(ptx1 + ptx2));
  std::string object1 = fatbin(ptx1), object2 = fatbin(ptx2), linked = fatbin(entry(2, "linked.."));
  const void *objects[] = {object1.data(), object2.data(), nullptr};
  Wrapper rdc{0x466243b1, 2, linked.data(), objects};
  EXPECT_EQ(read(load(&rdc)), fatbin(ptx1 + ptx2));

  // An entry that says it is longer than its fatbin.
  std::string bad = fatbin(ptx1);
  bad[16 + 8] = 100;
  CUmodule module;
  EXPECT_EQ(cuModuleLoadData(&module, bad.data()), 0);
  EXPECT_THAT(session.take(Kind::warning).text(), testing::HasSubstr("image"));
  cuModuleUnload(module);
  session.detach();
}

TEST_F(Agent, UnloadedModulesAreForgotten) {
  Session session(protocol::kAttach);
  attach(session);
  warm_up(function("probe_a"), "probe_a");
  int alive = fake_->modules_alive();
  for (int i = 0; i < 5; ++i) {
    CUmodule module;
    CUfunction f;
    ASSERT_EQ(cuModuleLoadData(&module, kModule), 0);
    ASSERT_EQ(cuModuleGetFunction(&f, module, "probe_a"), 0);
    uint64_t before = fake_->launch_count("probe_a", true);
    ASSERT_TRUE(eventually([&] { return launch(f) == 0 && fake_->launch_count("probe_a", true) > before; }));
    ASSERT_EQ(cuModuleUnload(module), 0);
  }
  // Their patched modules go as well.
  EXPECT_TRUE(eventually([&] { return fake_->modules_alive() == alive; })) << fake_->modules_alive();
  session.detach();
}

}  // namespace agent_test
