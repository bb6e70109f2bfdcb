// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	*(u32 *)gpu_cookie(ctx) = 1; /* error: the cookie is loaded and stored as a whole */
	return 0;
}
