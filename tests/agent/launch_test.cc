// Launches in all their forms, redirected.
#include "tests/agent/agent.h"

namespace agent_test {

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

}  // namespace agent_test
