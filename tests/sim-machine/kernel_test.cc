// Kernels that nvcc compiled, compared with the same computation on the host.
#include <cmath>

#include "tests/sim-machine/run.h"

namespace egpu::sim {
namespace {

class Kernel : public testing::TestWithParam<const char *> {
 protected:
  void SetUp() override {
    if (nvcc_path().empty()) GTEST_SKIP() << "nvcc is not installed";
  }
  void build(const std::string &source, const std::string &flags = "-O3") {
    std::string ptx = compile(source, GetParam(), flags);
    ASSERT_FALSE(ptx.empty());
    module = load_or_fail(*machine, ptx);
    ASSERT_TRUE(module);
  }
  std::unique_ptr<Machine> machine = Machine::create(test_config());
  std::shared_ptr<Module> module;
};
INSTANTIATE_TEST_SUITE_P(Arch, Kernel, testing::Values("sm_75", "sm_90"));

TEST_P(Kernel, Vecadd) {
  build(R"(extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) c[i] = a[i] + b[i]; })");
  constexpr int n = 1009;
  Buffer<float> a(*machine, n), b(*machine, n), c(*machine, n);
  for (int i = 0; i < n; ++i) {
    a[i] = static_cast<float>(i) * 0.5f;
    b[i] = static_cast<float>(i * i);
  }
  Outcome out = launch(*machine, module, "vecadd", {8, 1, 1}, {128, 1, 1}, Parameters().add(a.address()).add(b.address()).add(c.address()).add(n));
  ASSERT_TRUE(out.ok) << out.error;
  for (int i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
}

}  // namespace
}  // namespace egpu::sim
