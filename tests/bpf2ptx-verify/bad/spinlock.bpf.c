// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
u64 lock;
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	while (__sync_val_compare_and_swap(&lock, 0, 1)) /* error: waiting for other threads is not possible on a GPU */
		;
	lock = 0;
	return 0;
}
