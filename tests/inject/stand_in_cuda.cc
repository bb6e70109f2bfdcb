// A libcuda.so.1 with launch functions that do nothing but answer; their code begins like the
// real driver's. What they return tells whether all arguments arrived.
extern "C" {
volatile int stand_in_flag = 0;
volatile long stand_in_sum = 0;
}
#define LAUNCH(name)                                                                                        \
  asm(".text\n.balign 16\n.globl " #name "\n.type " #name ", @function\n" #name                             \
      ":\n"                                                                                                 \
      "push %rbp\nmov %rsp,%rbp\npush %r12\nsub $8,%rsp\n"                                                  \
      "cmpl $0x11223344,local_flag(%rip)\n"                                                                 \
      "lea (%rdi,%rsi),%rax\nadd %rdx,%rax\nadd %rcx,%rax\nadd %r8,%rax\nadd %r9,%rax\nadd 16(%rbp),%rax\n" \
      "add $8,%rsp\npop %r12\npop %rbp\nret\n.size " #name ", .-" #name "\n")
asm(".data\n.balign 8\nlocal_flag: .long 5\n.text\n");
LAUNCH(cuLaunchKernel);
LAUNCH(cuLaunchKernel_ptsz);
LAUNCH(cuLaunchKernelEx);
