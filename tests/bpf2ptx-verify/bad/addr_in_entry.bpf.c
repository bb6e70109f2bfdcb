// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
u64 last;
SEC("gpu/entry/*")
int prog(struct gpu_mem_ctx *ctx)
{
	last = ctx->addr; /* error: ctx->addr exists in memory events (ld, st, atom, red) only */
	return 0;
}
