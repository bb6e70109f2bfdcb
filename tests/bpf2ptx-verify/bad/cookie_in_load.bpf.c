// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
SEC("gpu/ld.global/*")
int prog(struct gpu_mem_ctx *ctx)
{
	*gpu_cookie(ctx) = 1; /* error: gpu_cookie() works in entry and exit programs only */
	return 0;
}
