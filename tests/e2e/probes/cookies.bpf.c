// SPDX-License-Identifier: Apache-2.0
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* cookies: what a scope's entry wrote is what its exit reads; every mismatch is counted. */
u64 checked, wrong;

static __always_inline u64 token(struct gpu_ctx *ctx, u32 scope)
{
	return (u64)scope << 56 | (u64)ctx->block_idx.x << 24 | (u64)ctx->block_idx.y << 40 | ctx->site >> 31;
}
static __always_inline int check(struct gpu_ctx *ctx, u64 expected)
{
	__sync_fetch_and_add(&checked, 1);
	__sync_fetch_and_add(&wrong, *gpu_cookie(ctx) != expected);
	return 0;
}
SEC("gpu/entry/*") int thread_in(struct gpu_ctx *ctx)
{
	*gpu_cookie(ctx) = token(ctx, 1) + ctx->thread_idx.x;
	return 0;
}
SEC("gpu/exit/*") int thread_out(struct gpu_ctx *ctx) { return check(ctx, token(ctx, 1) + ctx->thread_idx.x); }
SEC("gpu.block/entry/*") int block_in(struct gpu_ctx *ctx)
{
	*gpu_cookie(ctx) = token(ctx, 2);
	return 0;
}
SEC("gpu.block/exit/*") int block_out(struct gpu_ctx *ctx) { return check(ctx, token(ctx, 2)); }
SEC("gpu.grid/entry/*") int grid_in(struct gpu_ctx *ctx)
{
	*gpu_cookie(ctx) = 0x1234567800000000ull | ctx->grid_dim.x;
	return 0;
}
SEC("gpu.grid/exit/*") int grid_out(struct gpu_ctx *ctx) { return check(ctx, 0x1234567800000000ull | ctx->grid_dim.x); }
