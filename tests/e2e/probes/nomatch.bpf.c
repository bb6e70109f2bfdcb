// SPDX-License-Identifier: Apache-2.0
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* nomatch: a kernel name with a typing error. */
SEC("gpu/entry/vecaddd")
int on_entry(struct gpu_ctx *ctx)
{
	return 0;
}
