// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
static __noinline u64 sum(u64 seed)
{
	volatile u64 t[40];

	for (int i = 0; i < 40; i++)
		t[i] = seed;
	return t[seed & 31];
}
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	volatile u64 t[40];

	for (int i = 0; i < 40; i++)
		t[i] = ctx->lane_id;
	return sum(ctx->arg[0]) + t[3]; /* error: bytes of stack, more than 512 */
}
