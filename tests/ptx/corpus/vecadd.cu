// A template in a namespace, an extern "C" kernel, a kernel without parameters.
namespace ns {
template <class T, int N>
__global__ void vecadd(const T *a, const T *b, T *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  T sum = 0;
  for (int j = 0; j < N; ++j) sum += a[i] * T(j) + b[i];
  c[i] = sum;
}
template __global__ void vecadd<float, 4>(const float *, const float *, float *, int);
template __global__ void vecadd<double, 1>(const double *, const double *, double *, int);
}  // namespace ns

extern "C" __global__ void vecadd(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void nothing() {}

extern "C" __global__ void vector_loads(const float4 *a, float4 *b, volatile int *flags) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = a[i];
  v.x += 1;
  b[i] = v;
  flags[i] = flags[i + 1];
}
