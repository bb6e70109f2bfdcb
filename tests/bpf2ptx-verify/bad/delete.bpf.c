// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	u32 key = ctx->lane_id;

	bpf_map_delete_elem(&counts, &key); /* error: bpf_map_delete_elem() is not supported yet */
	return 0;
}
