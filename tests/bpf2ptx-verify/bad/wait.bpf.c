// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
u32 flag;
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	while (!*(volatile u32 *)&flag) /* error: memory that another thread writes: waiting for other threads is not possible */
		;
	return 0;
}
