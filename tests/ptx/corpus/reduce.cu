// Static and dynamic shared memory, barriers, shuffles, early exit of whole threads.
extern "C" __global__ void block_sum(const int *in, int *out, int n) {
  __shared__ int sums[256];
  unsigned t = threadIdx.x;
  int i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (unsigned s = blockDim.x / 2; s > 0; s /= 2) {
    if (t < s) sums[t] += sums[t + s];
    __syncthreads();
  }
  if (t != 0) return;
  atomicAdd(out, sums[0]);
}

extern "C" __global__ void __launch_bounds__(128) dynamic_sum(const int *in, int *out, int n) {
  extern __shared__ int cells[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  cells[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  int v = cells[blockDim.x - 1 - threadIdx.x];
  for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(0xffffffffu, v, o);
  if ((threadIdx.x & 31) == 0) atomicAdd(out + 1, v);
}

extern "C" __global__ void early(const int *in, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) asm volatile("exit;");
  if (in[i] < 0) return;
  out[i] = in[i];
  if (in[i] == 7) return;
  out[i] += 1;
}
