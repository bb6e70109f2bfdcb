// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
const volatile u32 limit = 5;
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	*(volatile u32 *)&limit = ctx->lane_id; /* error: '.rodata' is read-only; make the variable non-const */
	return 0;
}
