// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16);
	__type(key, u32);
	__type(value, struct gpu_hist);
} hists SEC(".maps");

SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	u32 key = 0;
	struct gpu_hist *h = bpf_map_lookup_elem(&hists, &key);

	if (!h)
		return 0;
	__sync_fetch_and_add(&h->slots[ctx->sm_id], 1); /* error: of map 'hists', which has 512 bytes; check the index */
	return 0;
}
