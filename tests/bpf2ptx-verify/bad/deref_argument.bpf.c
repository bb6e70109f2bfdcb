// SPDX-License-Identifier: (LGPL-2.1 OR BSD-2-Clause)
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include <egpu/gpu.bpf.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";
SEC("gpu/entry/*")
int BPF_GPU(prog, const int *a)
{
	return *a; /* error: not a pointer; a load goes through the context, the stack or a map value */
}
