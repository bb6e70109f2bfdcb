// n-body: struct parameters, shared tiles, double accumulation on the host as reference. With the
// approximate reciprocal root, whose last bits are each machine's own, and with the exact one.
#include "check.h"

struct Setup {
  int count;
  float softening, step;
};

template <bool kIsExact>
__global__ void advance(const float4 *bodies, float4 *velocities, float4 *out, Setup setup) {
  __shared__ float4 tile[128];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 me = i < setup.count ? bodies[i] : make_float4(0, 0, 0, 0);
  float ax = 0, ay = 0, az = 0;
  for (int base = 0; base < setup.count; base += blockDim.x) {
    const int j = base + threadIdx.x;
    tile[threadIdx.x] = j < setup.count ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
    for (int k = 0; k < blockDim.x; ++k) {
      const float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
      const float square = dx * dx + dy * dy + dz * dz + setup.softening;
      const float r = kIsExact ? 1.0f / sqrtf(square) : rsqrtf(square);
      const float scale = tile[k].w * r * r * r;
      ax += dx * scale, ay += dy * scale, az += dz * scale;
    }
    __syncthreads();
  }
  if (i >= setup.count) return;
  float4 v = velocities[i];
  v.x += ax * setup.step, v.y += ay * setup.step, v.z += az * setup.step;
  velocities[i] = v;
  out[i] = make_float4(me.x + v.x * setup.step, me.y + v.y * setup.step, me.z + v.z * setup.step, me.w);
}

template <bool kIsExact>
void simulate() {
  const Setup setup{307, 0.01f, 0.05f};
  Sequence random;
  auto unit = [&] { return static_cast<float>(random.next() >> 8) / 16777216.0f; };
  std::vector<float4> bodies(setup.count), still(setup.count, float4{0, 0, 0, 0});
  for (float4 &body : bodies) body = {unit(), unit(), unit(), unit() / setup.count};
  DeviceArray<float4> from(bodies), velocities(still), to(setup.count);
  advance<kIsExact><<<(setup.count + 127) / 128, 128>>>(from.data, velocities.data, to.data, setup);
  const auto moved = to.read();
  for (int i = 0; i < setup.count; ++i) {
    double a[3] = {0, 0, 0};
    for (const float4 &other : bodies) {
      const double dx = other.x - bodies[i].x, dy = other.y - bodies[i].y, dz = other.z - bodies[i].z;
      const double r = 1 / std::sqrt(dx * dx + dy * dy + dz * dz + setup.softening), s = other.w * r * r * r;
      a[0] += dx * s, a[1] += dy * s, a[2] += dz * s;
    }
    const double step2 = double(setup.step) * setup.step;
    CHECK(std::fabs(moved[i].x - (bodies[i].x + a[0] * step2)) < 1e-5);
    CHECK(std::fabs(moved[i].y - (bodies[i].y + a[1] * step2)) < 1e-5);
    CHECK(std::fabs(moved[i].z - (bodies[i].z + a[2] * step2)) < 1e-5);
  }
  if (kIsExact) record(moved);
}

int main() {
  simulate<false>();
  simulate<true>();
  return verdict();
}
