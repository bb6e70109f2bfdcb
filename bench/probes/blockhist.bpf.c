// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* blockhist: how long does a block take? probes/blockdur.bpf.c for every kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct gpu_hist);
} duration __unit("ns") SEC(".maps");

SEC("gpu.block/entry/*")
int block_start(struct gpu_ctx *ctx)
{
	*gpu_cookie(ctx) = bpf_ktime_get_ns();
	return 0;
}

SEC("gpu.block/exit/*")
int block_end(struct gpu_ctx *ctx)
{
	u64 delta = bpf_ktime_get_ns() - *gpu_cookie(ctx);
	u32 key = 0;
	struct gpu_hist *h = bpf_map_lookup_elem(&duration, &key);
	if (h)
		gpu_hist_add(h, delta);
	return 0;
}
