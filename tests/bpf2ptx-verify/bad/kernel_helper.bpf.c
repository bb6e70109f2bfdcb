// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	return bpf_get_current_task() & 1; /* error: bpf_get_current_task (35) has no meaning on a GPU */
}
