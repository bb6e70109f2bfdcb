// Device functions that stay functions, recursion, printf, assert, structs by value.
#include <cassert>
#include <cstdio>

struct Pair {
  int a;
  double b;
  char c[5];
};
struct Bytes {
  char c[11];
};

__device__ int depth;

__device__ __noinline__ int leave(int x) {
  if (x == 7) asm volatile("exit;");
  return x * depth;
}

__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

__device__ __noinline__ int load(const int *p, int i) { return p[i] + leave(i); }

extern "C" __global__ void structs(Pair p, Bytes s, int *o, short q, char r) {
  o[threadIdx.x] = leave(p.a) + int(p.b) + p.c[3] + s.c[2] + q + r;
}

extern "C" __global__ void callers(const int *in, int *out) {
  out[threadIdx.x] = load(in, threadIdx.x) + factorial(in[3]);
}

extern "C" __global__ void says(int n) {
  printf("thread %d of %s\n", threadIdx.x, n > 3 ? "many" : "few");
  assert(n != 5);
}

typedef int (*Operation)(int);
__device__ Operation operations[2] = {leave, factorial};

extern "C" __global__ void indirect(int *o, int k) { o[0] = operations[k](k); }
