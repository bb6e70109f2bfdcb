// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
u64 hot;
SEC("gpu/ld.global/*")
int prog(struct gpu_mem_ctx *ctx)
{
	if (ctx->addr & 128) /* note: they may part here */
		return 0;
	if (gpu_ballot(ctx->size > 4)) /* error: the lanes of a warp may not all be here together, and gpu_ballot() asks those that are; call it before they part */
		__sync_fetch_and_add(&hot, 1);
	return 0;
}
