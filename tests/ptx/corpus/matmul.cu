// Tiles in shared memory, variables of the module in every space.
__constant__ float scale[16];
__device__ int calls;
__device__ float bias[4] = {1, 2, 3, 4};
static __device__ const float *table[2] = {bias, bias + 2};
__managed__ int progress;

extern "C" __global__ void matmul(const float *a, const float *b, float *c, int n) {
  __shared__ float ta[16][16], tb[16][17];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k = 0; k < n; k += 16) {
    ta[y][x] = a[row * n + k + x];
    tb[y][x] = b[(k + y) * n + col];
    __syncthreads();
#pragma unroll 2
    for (int j = 0; j < 16; ++j) sum += ta[y][j] * tb[j][x];
    __syncthreads();
  }
  c[row * n + col] = sum * scale[x] + scale[3] + bias[y & 3] + *table[x & 1];
  if (x == 0 && y == 0) {
    atomicAdd(&calls, 1);
    progress = n;
  }
}
