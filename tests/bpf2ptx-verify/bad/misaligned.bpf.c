// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
u64 words[4];
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	*(volatile u64 *)((char *)words + (ctx->sm_id & 15)) = 1; /* error: no multiple of 8: a GPU faults on misaligned accesses */
	return 0;
}
