__attribute__((nvptx_kernel)) void saxpy(float a, __attribute__((address_space(1))) const float *x, __attribute__((address_space(1))) float *y, int n) {
  int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x();
  for (; i < n; i += 1024) { if (x[i] > 3) { y[i] = a * x[i] + y[i]; } else if (x[i] < -4) return; }
}
