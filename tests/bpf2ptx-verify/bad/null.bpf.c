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
	u32 key = ctx->lane_id & 15;
	struct gpu_hist *h = bpf_map_lookup_elem(&hists, &key);

	h->slots[0] = 1; /* error: `h` may be NULL here: the lookup at line 19 is not checked; check it first: if (!h) return 0; */
	return 0;
}
