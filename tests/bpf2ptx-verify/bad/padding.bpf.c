// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
struct key { u32 a; u64 b; };
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16);
	__type(key, struct key);
	__type(value, u64);
} counts SEC(".maps");
SEC("gpu/entry/*")
int prog(struct gpu_ctx *ctx)
{
	struct key key;
	u64 *n;

	key.a = ctx->lane_id;
	key.b = ctx->launch_ns;
	n = bpf_map_lookup_elem(&counts, &key); /* error: byte 4 of it is not initialised; set the whole variable first, padding too */
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}
