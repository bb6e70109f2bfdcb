// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
u64 sum;
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	u64 n = ctx->arg[3], total = 0;

	for (u64 i = 0; i < n; i++)
		total += bpf_get_prandom_u32(); /* error: this loop may execute more than 4096 instructions */
	__sync_fetch_and_add(&sum, total);
	return 0;
}
