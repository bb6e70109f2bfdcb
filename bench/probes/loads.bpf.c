// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* loads: one addition for every load from global memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} loads SEC(".maps");

SEC("gpu/ld.global/*")
int count_load(struct gpu_mem_ctx *ctx)
{
	u32 key = 0;
	u64 *n = bpf_map_lookup_elem(&loads, &key);
	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}
