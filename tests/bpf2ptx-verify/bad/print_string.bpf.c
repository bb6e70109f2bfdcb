// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	bpf_printk("kernel %s", ctx->arg[0]); /* error: bpf_printk() cannot print '%s' */
	return 0;
}
