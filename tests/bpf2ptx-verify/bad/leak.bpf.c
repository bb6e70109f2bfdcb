// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
u64 where;
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	where = (u64)ctx; /* error: is a pointer to the context; pointers may not leave the program */
	return 0;
}
