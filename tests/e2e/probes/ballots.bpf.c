// SPDX-License-Identifier: Apache-2.0
// The lanes that load together, asked for at the load: the lowest of them counts all.
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
u64 lanes, wrong;

SEC("gpu/ld.global/*")
int on_load(struct gpu_mem_ctx *ctx)
{
	u32 together = gpu_ballot(1), odd = gpu_ballot(ctx->gpu.lane_id & 1);
	u32 lowest = together & -together;

	if (lowest == 1u << ctx->gpu.lane_id)
		__sync_fetch_and_add(&lanes, __builtin_popcount(together));
	if (together != ctx->gpu.active_mask || odd != (together & 0xaaaaaaaa))
		__sync_fetch_and_add(&wrong, 1);
	return 0;
}
