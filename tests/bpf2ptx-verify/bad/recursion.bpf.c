// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
static __noinline int f(int n, int m)
{
	if (n > m)
		return n;
	return f(n + 1, m) * 3 + m; /* error: recursion is not possible, use a loop */
}
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	return f(ctx->lane_id, 7);
}
