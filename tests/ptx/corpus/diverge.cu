// Loops whose length depends on the lane, a switch, gotos in asm, predicated exits.
extern "C" __global__ void collatz(const unsigned *in, unsigned *steps, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = in[i], s = 0;
  while (v != 1) {
    v = v & 1 ? 3 * v + 1 : v / 2;
    if (++s == 1000) break;
  }
  steps[i] = s;
}

extern "C" __global__ void choose(int *o, int k) {
  switch (k) {
    case 0: o[0] = o[9] * 3; break;
    case 1: o[1] = o[2] + o[3]; break;
    case 2: o[3] = o[4] * 3; break;
    case 3: o[5] = o[6] / 7; break;
    case 4: __syncthreads(); o[6] = o[4] + 3; break;
    case 5: o[7] = o[6] % 7; break;
    case 6: o[8] = o[1] ^ o[2]; break;
    case 7: o[9] = __popc(o[2]); break;
  }
}

extern "C" __global__ void predicated(int *o, int n) {
  int i = threadIdx.x;
  asm volatile("{\n\t.reg .pred p, q;\n\tsetp.gt.s32 p, %0, %1;\n\tsetp.eq.s32 q, %0, 3;\n\t@p exit;\n\t@!q bra L1;\n"
               "\tst.global.u32 [%2], %0;\nL1:\n\t@q st.global.v2.u32 [%2+8], {%0, %1};\n\t}"
               :: "r"(i), "r"(n), "l"(o) : "memory");
  o[i] = n;
}

// The first statement is a loop head.
extern "C" __global__ void spin(volatile int *flag) {
  do {
  } while (*flag == 0);
}
