// SPDX-License-Identifier: Apache-2.0
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* scopes: entry and exit in every scope, counted apart. */
u64 thread_entries, thread_exits, warp_entries, warp_exits, block_entries, block_exits, grid_entries, grid_exits;

#define COUNTER(section, name, counter)				\
	SEC(section) int name(struct gpu_ctx *ctx)		\
	{							\
		__sync_fetch_and_add(&counter, 1);		\
		return 0;					\
	}
COUNTER("gpu/entry/*", on_thread_entry, thread_entries)
COUNTER("gpu/exit/*", on_thread_exit, thread_exits)
COUNTER("gpu.warp/entry/*", on_warp_entry, warp_entries)
COUNTER("gpu.warp/exit/*", on_warp_exit, warp_exits)
COUNTER("gpu.block/entry/*", on_block_entry, block_entries)
COUNTER("gpu.block/exit/*", on_block_exit, block_exits)
COUNTER("gpu.grid/entry/*", on_grid_entry, grid_entries)
COUNTER("gpu.grid/exit/*", on_grid_exit, grid_exits)
