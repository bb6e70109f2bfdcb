#include "lib/loader/ptx/match.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lib/loader/ptx/patch.h"
#include "tests/ptx/support.h"

namespace egpu::ptx {
namespace {

constexpr const char *kVecadd = "_ZN2ns6vecaddIfLi4EEEvPKT_S3_PS1_i";

struct StatementRow {
  const char *event, *mnemonic;
  bool matches;
};

TEST(Match, statements) {
  const StatementRow rows[] = {
      {"ld", "ld.global.f32", true},
      {"ld.global", "ld.volatile.global.v4.f32", true},
      {"ld.f32.global", "ld.global.v4.f32", true},
      {"ld.global", "ld.f32", false},
      {"ld.global", "st.global.f32", false},
      {"ld", "ldu.global.f32", false},
      {"ld", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", false},
      {"ld", "ld.param.u64", false},
      {"ld.u64", "ld.param::entry.u64", false},
      {"st", "st.param.b32", false},
      {"st.shared", "st.shared::cta.u32", true},
      {"st.shared::cta", "st.shared::cta.u32", true},
      {"st.shared::cta", "st.shared.u32", false},
      {"ld.global.v4", "ld.global.v2.f32", false},
      {"atom.add", "atom.global.add.u32", true},
      {"red", "red.global.add.u32", true},
      {"bra", "bra", true},
      {"bra", "bra.uni", true},
      {"bra.uni", "bra", false},
      {"bra", "brx.idx", false},
      {"ld.ld", "ld.global.f32", false},
  };
  for (const StatementRow &row : rows)
    EXPECT_EQ(statement_matches(test::event(std::string("thread/") + row.event), row.mnemonic), row.matches)
        << row.event << " " << row.mnemonic;
}

struct KernelRow {
  const char *glob, *mangled;
  bool matches;
};

TEST(Match, kernels) {
  const KernelRow rows[] = {
      {"*", kVecadd, true},
      {"ns::vecadd<float, *>", kVecadd, true},
      {"ns::vecadd<float,4>", kVecadd, true},
      {"ns::vecadd<double, *>", kVecadd, false},
      {"ns::vecadd", kVecadd, true},
      {"ns::vec*", kVecadd, true},
      {"ns::vecadd*", kVecadd, true},
      {"vecadd", kVecadd, false},
      {"vecadd*", kVecadd, false},
      {"*::vecadd", kVecadd, true},
      {"*vecadd*", kVecadd, true},
      {"ns::vecadd<float, 4>(float const*, float const*, float*, int)", kVecadd, true},
      {"ns::vecadd<float, 4>(float const*, *)", kVecadd, true},
      {"ns::vecadd(*", kVecadd, false},
      {"*(float const*, float const*, float*, int)", kVecadd, true},
      {"_ZN2ns6vecadd*", kVecadd, true},
      {"_ZN2ns6vecaddId*", kVecadd, false},
      {"vecadd", "vecadd", true},
      {"vecadd*", "vecadd2", true},
      {"vecadd?", "vecadd2", true},
      {"vecadd", "vecadd2", false},
      {"saxpy", "_Z5saxpyfPKfPfi", true},
      {"saxpy(float, *)", "_Z5saxpyfPKfPfi", true},
      {"(anonymous namespace)::k(int)", "_ZN12_GLOBAL__N_11kEi", true},
      {"*::k", "_ZN12_GLOBAL__N_11kEi", true},
      {"_Zbroken", "_Zbroken", true},
      {"", "k", false},
  };
  for (const KernelRow &row : rows)
    EXPECT_EQ(kernel_matches(row.glob, row.mangled), row.matches) << row.glob << " " << row.mangled;
}

TEST(Match, printed_names) {
  EXPECT_EQ(demangle(kVecadd), "ns::vecadd<float, 4>(float const*, float const*, float*, int)");
  EXPECT_EQ(demangle_short(kVecadd), "ns::vecadd<float, 4>");
  EXPECT_EQ(demangle("vecadd"), "vecadd");
  EXPECT_EQ(demangle_short("_ZN12_GLOBAL__N_11kEi"), "(anonymous namespace)::k");
  EXPECT_EQ(demangle_short("_Z1kPFvPiE"), "k");
}

TEST(Match, near_names) {
  std::vector<std::string> kernels = {"vecadd", "_Z5saxpyfPKfPfi", kVecadd, "reduce_sum", "matmul"};
  using testing::ElementsAre;
  EXPECT_THAT(near_names("vecad", kernels), ElementsAre("vecadd", kVecadd));
  EXPECT_THAT(near_names("saxpi", kernels), ElementsAre("_Z5saxpyfPKfPfi"));
  EXPECT_THAT(near_names("reduce", kernels), ElementsAre("reduce_sum"));
  EXPECT_THAT(near_names("vecadd<float, 8>", kernels, 1), testing::SizeIs(1));
  EXPECT_THAT(near_names("transpose", kernels), ElementsAre());
  EXPECT_THAT(near_names("*", {}), ElementsAre());
}

TEST(Match, refusals) {
  EXPECT_EQ(unsupported(test::event("thread/mma.sync")), "event mma.sync is not supported yet");
  EXPECT_EQ(unsupported(test::event("thread/bar.sync")), "event bar.sync is not supported yet");
  EXPECT_EQ(unsupported(test::event("warp/func:helper")), "event func:helper is not supported yet");
  EXPECT_EQ(unsupported(test::event("grid/ld")), "grid scope has only entry and exit");
  EXPECT_EQ(unsupported(test::event("thread/ld.param")), "event ld.param: .param is not memory");
  for (const char *fine :
       {"thread/entry", "grid/exit", "warp/bra", "block/ld.global", "thread/atom", "thread/red.add"})
    EXPECT_EQ(unsupported(test::event(fine)), "") << fine;
}

}  // namespace
}  // namespace egpu::ptx
