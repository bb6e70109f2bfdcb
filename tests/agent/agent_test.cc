// The agent in this process, on the fake driver, against a scripted session.
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "tests/agent/fakecuda.h"
#include "tests/agent/session.h"

using namespace std::chrono_literals;
using agent_test::Message;
using agent_test::Options;
using agent_test::Session;
using egpu::session::Kind;
namespace protocol = egpu::session;

namespace {

constexpr char kModule[] =
    ".entry probe_a(.param .u64 a, .param .u16 b, .param .u64 c) {}\n"
    ".entry probe_params(.param .u64 a, .param .u16 b, .param .u64 c) {}\n"
    ".entry other(.param .u64 a, .param .u16 b, .param .u64 c) {}\n"
    ".global counter\n";

template <class F>
bool eventually(F condition, std::chrono::milliseconds limit = 10s) {
  for (auto end = std::chrono::steady_clock::now() + limit; std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return condition();
}

class Agent : public testing::Test {
 protected:
  void SetUp() override {
    library_ = dlopen(EGPU_AGENT_PATH, RTLD_NOW);
    ASSERT_TRUE(library_) << dlerror();
    attach_ = reinterpret_cast<int (*)(const char *)>(dlsym(library_, "egpu_agent_attach"));
    initialize_ = reinterpret_cast<int (*)()>(dlsym(library_, "InitializeInjection"));
    fake_ = fake_control();
    fake_->reset();
    cuDevicePrimaryCtxRetain(&context_, 0);
    cuCtxSetCurrent(context_);
    ASSERT_EQ(cuModuleLoadData(&module_, kModule), 0);
    memcpy(before_, reinterpret_cast<const void *>(&cuLaunchKernel), sizeof before_);
  }
  void TearDown() override {
    cuModuleUnload(module_);
    EXPECT_EQ(fake_->dead_function_uses(), 0);
  }

  CUfunction function(const char *name) {
    CUfunction f = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&f, module_, name), 0);
    return f;
  }
  void attach(Session &session) {
    ASSERT_EQ(attach_(session.path().c_str()), 0);
    session.take(Kind::entries);
    ASSERT_TRUE(eventually([&] { return session.ready(); }));
    ASSERT_TRUE(hooked());
  }
  static bool hooked() { return *reinterpret_cast<const uint8_t *>(&cuLaunchKernel) == 0xe9; }
  bool restored() {
    return memcmp(before_, reinterpret_cast<const void *>(&cuLaunchKernel), sizeof before_) == 0;
  }

  // A launch of (7, 8, 9) by the plainest way.
  CUresult launch(CUfunction f, CUstream stream = nullptr, unsigned shared = 0) {
    uint64_t a = 7, c = 9;
    uint16_t b = 8;
    void *params[] = {&a, &b, &c};
    return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, shared, stream, params, nullptr);
  }
  // Launches until the patched function runs.
  void warm_up(CUfunction f, const char *name) {
    ASSERT_TRUE(eventually([&] { return launch(f) == 0 && fake_->launch_count(name, true) > 0; })) << name;
  }
  std::vector<uint64_t> last_parameters() { return fake_->launches().back().parameters; }

  void *library_ = nullptr;
  int (*attach_)(const char *) = nullptr;
  int (*initialize_)() = nullptr;
  fakecuda::Control *fake_ = nullptr;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  uint8_t before_[16];
};

TEST_F(Agent, AttachTellsEntriesHooksAndRestores) {
  Session session(protocol::kAttach);
  attach(session);
  EXPECT_EQ(session.take(Kind::hello).fixed<protocol::Hello>().version, protocol::kProtocolVersion);
  bool found = false;
  for (const protocol::EntryPoint &entry : session.entries())
    if (std::string(entry.name) == "cuLaunchKernel") {
      found = true;
      EXPECT_EQ(entry.address, reinterpret_cast<uint64_t>(&cuLaunchKernel));
      EXPECT_EQ(memcmp(entry.code, before_, sizeof before_), 0);
    }
  EXPECT_TRUE(found);
  EXPECT_EQ(session.detach().drained, 1u);
  EXPECT_TRUE(restored());
  EXPECT_TRUE(session.closed());
}

TEST_F(Agent, RedirectsAfterLoadAndCountsExactly) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction probe = function("probe_a"), other = function("other");
  ASSERT_EQ(launch(probe), 0);  // unknown: the original runs, egpu-load is asked
  EXPECT_EQ(fake_->launch_count("probe_a", false), 1u);
  protocol::Context context = session.take(Kind::context).fixed<protocol::Context>();
  EXPECT_EQ(context.context, reinterpret_cast<uint64_t>(context_));
  EXPECT_EQ(context.sm_count, fakecuda::kSmCount);
  EXPECT_EQ(context.compute_major, 9);
  EXPECT_GE(context.ktime_offset_ns, fakecuda::kClockOffsetNs);
  EXPECT_LE(context.ktime_offset_ns, fakecuda::kClockOffsetNs + 1000000);
  Message kernel = session.take(Kind::kernel);
  EXPECT_EQ(kernel.text<protocol::Kernel>(), "probe_a");
  EXPECT_EQ(kernel.fixed<protocol::Kernel>().module, reinterpret_cast<uint64_t>(module_));
  EXPECT_EQ(kernel.fixed<protocol::Kernel>().waiting, 0u);
  EXPECT_EQ(session.take(Kind::loaded).fixed<protocol::Loaded>().ok, 1u);

  constexpr int kLaunches = 23;
  for (int i = 0; i < kLaunches; ++i) ASSERT_EQ(launch(probe), 0);
  EXPECT_EQ(last_parameters(), (std::vector<uint64_t>{7, 8, 9}));
  for (int i = 0; i < kLaunches; ++i) ASSERT_EQ(launch(other), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), kLaunches);
  EXPECT_EQ(fake_->launch_count("probe_a", false), 1u);
  EXPECT_EQ(fake_->launch_count("other", false), kLaunches);
  EXPECT_EQ(fake_->launch_count("other", true), 0u);
  EXPECT_EQ(session.snapshot_word(), kLaunches);

  ASSERT_EQ(launch(probe), 0);
  protocol::Detached detached = session.detach();
  EXPECT_EQ(detached.launches_probed, kLaunches + 1u);
  EXPECT_EQ(detached.drained, 1u);
  EXPECT_EQ(session.file_word(), kLaunches + 1u) << "final snapshot";
  ASSERT_EQ(launch(probe), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), kLaunches + 1u);
}

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

// Every entry point that launches, with both forms of parameters.
TEST_F(Agent, AddsLaunchParametersInEveryForm) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction f = function("probe_params");
  warm_up(f, "probe_params");

  uint64_t a = 7, c = 9;
  uint16_t b = 8;
  void *params[] = {&a, &b, &c};
  struct Packed {
    uint64_t a;
    uint16_t b;
    uint64_t c;
    char padding[8];
  } packed{7, 8, 9, {}};
  size_t exact = 24, padded = sizeof packed;
  void *extra[] = {reinterpret_cast<void *>(kLaunchParamBufferPointer), &packed,
                   reinterpret_cast<void *>(kLaunchParamBufferSize), &exact, nullptr};
  void *extra_padded[] = {reinterpret_cast<void *>(kLaunchParamBufferSize), &padded,
                          reinterpret_cast<void *>(kLaunchParamBufferPointer), &packed, nullptr};
  CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, 0};
  struct Way {
    const char *name;
    std::function<CUresult()> launch;
  };
  const Way ways[] = {
      {"cuLaunchKernel", [&] { return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr); }},
      {"cuLaunchKernel", [&] { return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra); }},
      {"cuLaunchKernel",
       [&] { return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra_padded); }},
      {"cuLaunchKernel_ptsz",
       [&] { return cuLaunchKernel_ptsz(f, 1, 1, 1, 1, 1, 1, 0, nullptr, params, nullptr); }},
      {"cuLaunchKernelEx", [&] { return cuLaunchKernelEx(&config, f, params, nullptr); }},
      {"cuLaunchKernelEx", [&] { return cuLaunchKernelEx(&config, f, nullptr, extra); }},
      // the fake's _ptsz calls cuLaunchKernelEx, which is hooked too: redirected once
      {"cuLaunchKernelEx", [&] { return cuLaunchKernelEx_ptsz(&config, f, params, nullptr); }},
      {"cuLaunchCooperativeKernel",
       [&] { return cuLaunchCooperativeKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, params); }},
  };
  uint64_t last_slot = 0;
  for (const Way &way : ways) {
    SCOPED_TRACE(way.name);
    uint64_t before = fake_->launch_count("probe_params", true);
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t now = static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
    ASSERT_EQ(way.launch(), 0);
    EXPECT_EQ(fake_->launch_count("probe_params", true), before + 1);
    EXPECT_EQ(fake_->launches().back().entry_point, way.name);
    std::vector<uint64_t> seen = last_parameters();
    ASSERT_EQ(seen.size(), 5u);
    EXPECT_EQ((std::vector<uint64_t>{seen[0], seen[1], seen[2]}), (std::vector<uint64_t>{7, 8, 9}));
    EXPECT_GE(seen[3], now);
    EXPECT_LT(seen[3], now + 1000000000u);
    EXPECT_EQ(seen[4] % 16, 0u);
    EXPECT_NE(seen[4], last_slot);
    EXPECT_EQ(*reinterpret_cast<uint64_t *>(seen[4]), 0u) << "slot not zeroed";
    last_slot = seen[4];
  }
  EXPECT_FALSE(session.saw(Kind::warning));
  session.detach();
}

// A captured launch runs at every replay: its slot is its own.
TEST_F(Agent, CaptureTakesSlotsThatAreNeverReused) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction f = function("probe_params");
  warm_up(f, "probe_params");
  uint64_t ring = last_parameters()[4];
  CUstream stream;
  cuStreamCreate(&stream, 0);
  cuStreamBeginCapture_v2(stream, 0);
  ASSERT_EQ(launch(f, stream), 0);
  uint64_t captured = last_parameters()[4];
  EXPECT_TRUE(fake_->launches().back().captured);
  session.snapshot_word();  // copies while a capture is under way
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), 0);
  EXPECT_FALSE(fake_->capture_was_broken());
  // All of the ring goes by without meeting the captured slot.
  EXPECT_TRUE(captured < ring || captured >= ring + 65536 * 16) << captured - ring;
  long before = fake_->device_bytes();
  EXPECT_EQ(session.detach().drained, 1u);
  EXPECT_EQ(fake_->device_bytes(), before) << "a graph may still write to the maps";
  cuStreamDestroy_v2(stream);
}

TEST_F(Agent, GraphNodesAreRedirectedAndReadBackAsTheOriginal) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction f = function("probe_params");
  warm_up(f, "probe_params");
  uint64_t a = 7, c = 9;
  uint16_t b = 8;
  void *params[] = {&a, &b, &c};
  CUDA_KERNEL_NODE_PARAMS_v2 node_params{f, 1, 1, 1, 1, 1, 1, 0, params, nullptr, nullptr, nullptr};
  CUgraph graph;
  CUgraphNode node;
  cuGraphCreate(&graph, 0);
  ASSERT_EQ(cuGraphAddKernelNode_v2(&node, graph, nullptr, 0, &node_params), 0);
  EXPECT_EQ(last_parameters().size(), 5u);
  CUDA_KERNEL_NODE_PARAMS_v2 read{};
  ASSERT_EQ(cuGraphKernelNodeGetParams_v2(node, &read), 0);
  EXPECT_EQ(read.func, f);
  read.kernelParams = params;  // as a program would that changes arguments
  c = 10;
  ASSERT_EQ(cuGraphKernelNodeSetParams_v2(node, &read), 0);
  EXPECT_EQ(last_parameters().size(), 5u);
  EXPECT_EQ(last_parameters()[2], 10u);
  CUgraphNodeParams generic{};
  generic.type = kGraphNodeKernel;
  generic.kernel = node_params;
  ASSERT_EQ(cuGraphAddNode_v2(&node, graph, nullptr, nullptr, 0, &generic), 0);
  EXPECT_EQ(last_parameters().size(), 5u);
  EXPECT_EQ(generic.kernel.func, f) << "the target's structure was changed";
  session.detach();
}

TEST_F(Agent, LibraryKernelsAreProbedPerContext) {
  Session session(protocol::kAttach);
  attach(session);
  CUlibrary library;
  CUkernel kernel;
  ASSERT_EQ(cuLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0), 0);
  Message image = session.take(Kind::image);
  EXPECT_EQ(image.fixed<protocol::Image>().is_library, 1u);
  EXPECT_EQ(image.fixed<protocol::Image>().module, reinterpret_cast<uint64_t>(library));
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "probe_a"), 0);
  CUfunction f = reinterpret_cast<CUfunction>(kernel);
  ASSERT_EQ(launch(f), 0);
  Message first = session.take(Kind::kernel);
  EXPECT_EQ(first.fixed<protocol::Kernel>().is_kernel, 1u);
  EXPECT_EQ(first.fixed<protocol::Kernel>().module, reinterpret_cast<uint64_t>(library));
  session.take(Kind::loaded);
  warm_up(f, "probe_a");

  // The same kernel in another context: not the first one's function, asked for again.
  CUcontext second = fake_->create_context();
  cuCtxSetCurrent(second);
  uint64_t before = fake_->launch_count("probe_a", true);
  ASSERT_EQ(launch(f), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), before);
  EXPECT_EQ(session.take(Kind::kernel).fixed<protocol::Kernel>().context, reinterpret_cast<uint64_t>(second));
  ASSERT_TRUE(eventually([&] { return launch(f) == 0 && fake_->launch_count("probe_a", true) > before; }));
  // The function behind the kernel is the kernel.
  cuCtxSetCurrent(context_);
  CUfunction twin;
  cuKernelGetFunction(&twin, kernel);
  before = fake_->launch_count("probe_a", true);
  ASSERT_EQ(launch(twin), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), before + 1);

  cuCtxSetCurrent(second);
  ASSERT_EQ(cuCtxDestroy_v2(second), 0);
  protocol::SnapshotDone last = session.take_final_snapshot();
  EXPECT_EQ(last.context, reinterpret_cast<uint64_t>(second));
  EXPECT_EQ(last.ok, 1u);
  cuCtxSetCurrent(context_);
  session.detach();
  cuLibraryUnload(library);
}

// A CUfunction got from a CUkernel, or from a library's module, belongs to the library's image.
TEST_F(Agent, FunctionsOfLibrariesAreToldAsTheirs) {
  Session session(protocol::kAttach);
  attach(session);
  CUlibrary library;
  CUkernel kernel;
  CUmodule module;
  CUfunction probe, other;
  ASSERT_EQ(cuLibraryLoadData(&library, kModule, nullptr, nullptr, 0, nullptr, nullptr, 0), 0);
  ASSERT_EQ(cuLibraryGetKernel(&kernel, library, "probe_a"), 0);
  ASSERT_EQ(cuKernelGetFunction(&probe, kernel), 0);
  ASSERT_EQ(cuLibraryGetModule(&module, library), 0);
  ASSERT_EQ(cuModuleGetFunction(&other, module, "other"), 0);
  for (CUfunction f : {probe, other}) {
    ASSERT_EQ(launch(f), 0);
    protocol::Kernel told = session.take(Kind::kernel).fixed<protocol::Kernel>();
    EXPECT_EQ(told.module, reinterpret_cast<uint64_t>(library));
    EXPECT_EQ(told.is_kernel, 0u);
    EXPECT_EQ(told.function, reinterpret_cast<uint64_t>(f));
  }
  // Its globals are looked up in the library, whatever the asker believes it to be.
  std::string message;
  protocol::WantGlobals want{reinterpret_cast<uint64_t>(library), reinterpret_cast<uint64_t>(context_), 0, 1};
  message.append(reinterpret_cast<char *>(&want), sizeof want);
  message.append("counter\0", 8);
  session.send(Kind::want_globals, message.data(), message.size());
  EXPECT_EQ(session.take(Kind::globals).words<protocol::Globals>(), (std::vector<uint64_t>{0x9000}));
  warm_up(probe, "probe_a");
  session.detach();
  cuLibraryUnload(library);
}

// A primary context that others retain goes on; its maps too.
TEST_F(Agent, ReleasingOneOfSeveralReferencesEndsNothing) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction f = function("probe_a");
  warm_up(f, "probe_a");
  CUcontext again;
  cuDevicePrimaryCtxRetain(&again, 0);
  ASSERT_EQ(cuDevicePrimaryCtxRelease_v2(0), 0);
  ASSERT_EQ(launch(f), 0);
  EXPECT_EQ(session.take(Kind::snapshot_done).fixed<protocol::SnapshotDone>().final, 0u);
  EXPECT_EQ(session.snapshot_word(), fake_->launch_count("probe_a", true));
  session.detach();
}

TEST_F(Agent, AttributesAreCarriedOver) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction f = function("probe_a");
  constexpr unsigned kShared = 100 * 1024;
  ASSERT_EQ(cuFuncSetAttribute(f, kFuncMaxDynamicSharedBytes, kShared), 0);
  ASSERT_EQ(cuFuncSetCacheConfig(f, 2), 0);
  warm_up(f, "probe_a");
  EXPECT_EQ(fake_->cache_config(fake_->last_patched()), 2);
  uint64_t before = fake_->launch_count("probe_a", true);
  ASSERT_EQ(launch(f, nullptr, kShared), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), before + 1);
  ASSERT_EQ(cuFuncSetAttribute(f, kFuncMaxDynamicSharedBytes, 2 * kShared), 0);  // while probed
  ASSERT_EQ(launch(f, nullptr, 2 * kShared), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), before + 2);
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

TEST_F(Agent, HangUpDetaches) {
  auto session = std::make_unique<Session>(protocol::kAttach);
  attach(*session);
  CUfunction f = function("probe_a");
  warm_up(f, "probe_a");
  session->hang_up();
  ASSERT_TRUE(eventually([&] { return restored(); }));
  uint64_t before = fake_->launch_count("probe_a", true);
  ASSERT_EQ(launch(f), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), before);
  session.reset();
  Session next(protocol::kAttach);  // and the agent can be used again
  attach(next);
  ASSERT_TRUE(eventually([&] { return launch(f) == 0 && fake_->launch_count("probe_a", true) > before; }));
  next.detach();
}

// egpu-load dies after it wrote the jumps and before it said so. Launches meanwhile go through.
TEST_F(Agent, HangUpBeforeHooksReadyRestoresTheJumps) {
  Options options;
  options.say_hooks_ready = false;
  Session session(protocol::kAttach, options);
  ASSERT_EQ(attach_(session.path().c_str()), 0);
  ASSERT_TRUE(eventually([&] { return session.ready(); }));
  ASSERT_TRUE(hooked());
  ASSERT_EQ(launch(function("probe_a")), 0);
  session.hang_up();
  ASSERT_TRUE(eventually([&] { return restored(); }));
  ASSERT_EQ(launch(function("probe_a")), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", false), 2u);
}

TEST_F(Agent, ManyAttachesLeakNothing) {
  CUfunction f = function("probe_params");
  long bytes = 0;
  int modules = 0;
  constexpr int kCycles = 100;
  for (int i = 0; i < kCycles; ++i) {
    Session session(protocol::kAttach);
    attach(session);
    uint64_t before = fake_->launch_count("probe_params", true);
    ASSERT_TRUE(
        eventually([&] { return launch(f) == 0 && fake_->launch_count("probe_params", true) > before; }));
    protocol::Detached detached = session.detach();
    ASSERT_EQ(detached.launches_probed, fake_->launch_count("probe_params", true) - before);
    ASSERT_TRUE(restored());
    if (i == 0) {
      bytes = fake_->device_bytes();
      modules = fake_->modules_alive();
    }
  }
  EXPECT_EQ(fake_->device_bytes(), bytes);
  EXPECT_EQ(fake_->modules_alive(), modules);
}

// A kernel that does not end: detach says so in bounded time and frees nothing that it may use.
TEST_F(Agent, DetachIsBoundedWhenTheDeviceIsBusy) {
  long bytes;
  {
    Session session(protocol::kAttach);
    attach(session);
    warm_up(function("probe_a"), "probe_a");
    bytes = fake_->device_bytes();
    fake_->set_busy(true);
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(session.detach().drained, 0u);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    EXPECT_EQ(fake_->device_bytes(), bytes);
    EXPECT_TRUE(restored());
  }
  fake_->set_busy(false);
  Session session(protocol::kAttach);
  attach(session);
  EXPECT_EQ(session.detach().drained, 1u);
  EXPECT_LT(fake_->device_bytes(), bytes) << "the first session's memory is freed by the next";
}

TEST_F(Agent, StartModeWaitsForTheVerdict) {
  Options options;
  options.answer_kernels = false;
  Session session(protocol::kStart, options);
  setenv("EGPU_SOCKET", session.path().c_str(), 1);
  EXPECT_EQ(initialize_(), 1);
  unsetenv("EGPU_SOCKET");
  ASSERT_TRUE(hooked()) << "InitializeInjection returns with the hooks in place";
  CUfunction f = function("probe_a"), other = function("other");
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  constexpr int kThreads = 5;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      cuCtxSetCurrent(context_);
      EXPECT_EQ(launch(f), 0);
      ++done;
    });
  Message kernel = session.take(Kind::kernel);
  EXPECT_EQ(kernel.fixed<protocol::Kernel>().waiting, 1u);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(done, 0);
  session.take(Kind::map_blocks);
  session.answer(kernel);
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(fake_->launch_count("probe_a", true), kThreads);
  EXPECT_EQ(fake_->launch_count("probe_a", false), 0u);
  EXPECT_FALSE(session.saw(Kind::kernel)) << "asked once";
  // A launch that waits when the session ends goes on.
  std::thread waiting([&] {
    cuCtxSetCurrent(context_);
    EXPECT_EQ(launch(other), 0);
  });
  session.take(Kind::kernel);
  session.hang_up();
  waiting.join();
  EXPECT_EQ(fake_->launch_count("other", false), 1u);
}

TEST_F(Agent, StartModeWithoutASessionIsSilentOrWarns) {
  unsetenv("EGPU_SOCKET");
  EXPECT_EQ(initialize_(), 1);
  EXPECT_FALSE(hooked());
  setenv("EGPU_SOCKET", "/tmp/egpu-no-such-socket", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(initialize_(), 1);
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "egpu-agent: /tmp/egpu-no-such-socket: No such file or directory; the program runs without probes\n");
  unsetenv("EGPU_SOCKET");
  EXPECT_FALSE(hooked());
}

TEST_F(Agent, ForkedChildLeavesTheSessionAlone) {
  Session session(protocol::kAttach);
  attach(session);
  CUfunction f = function("probe_a");
  warm_up(f, "probe_a");
  pid_t child = fork();
  if (child == 0) {
    // No agent here: launches go through, new functions are not asked for.
    bool ok = launch(f) == 0 && launch(function("other")) == 0;
    _exit(ok ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  uint64_t before = fake_->launch_count("probe_a", true);
  ASSERT_EQ(launch(f), 0);
  EXPECT_EQ(fake_->launch_count("probe_a", true), before + 1);
  EXPECT_EQ(session.detach().drained, 1u);
}

// Nothing lost, nothing twice, nothing freed under a launch, whatever the timing.
TEST_F(Agent, LaunchesFromManyThreadsWhileAttachingAndDetaching) {
  constexpr int kThreads = 8, kCycles = 30;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> launched{0}, failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      cuCtxSetCurrent(context_);
      CUfunction f = function(i % 2 ? "probe_a" : "probe_params");
      while (!stop) {
        if (launch(f) != 0) ++failed;
        ++launched;
      }
    });
  int undrained = 0;
  for (int i = 0; i < kCycles; ++i) {
    Session session(protocol::kAttach);
    attach(session);
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 7));
    if (i % 3 == 0) session.take(Kind::loaded);
    if (i % 5 == 4) {
      session.hang_up();
      ASSERT_TRUE(eventually([&] { return restored(); }));
    } else {
      protocol::Detached detached = session.detach();
      // On a machine that is busy enough a thread in a launch may not run within the limit.
      if (!detached.drained) {
        ++undrained;
        continue;
      }
      if (!session.saw(Kind::map_blocks)) continue;
      EXPECT_EQ(session.file_word(), detached.launches_probed);
    }
    ASSERT_TRUE(restored());
  }
  stop = true;
  for (std::thread &t : threads) t.join();
  EXPECT_EQ(failed, 0u);
  EXPECT_LT(undrained, kCycles / 3);
  uint64_t ran = 0;
  for (const char *name : {"probe_a", "probe_params"})
    ran += fake_->launch_count(name, false) + fake_->launch_count(name, true);
  EXPECT_EQ(ran, launched);
  EXPECT_GT(fake_->launch_count("probe_a", true), 0u);
}

}  // namespace
