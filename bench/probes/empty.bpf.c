// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* empty: what does being probed cost, without a probe's work? */
SEC("gpu/entry/*")
int nothing(struct gpu_ctx *ctx)
{
	return 0;
}
