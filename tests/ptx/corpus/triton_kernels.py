"""Triton kernels whose PTX is kept beside this file, as triton_NAME_sm_ARCH.ptx.

    python3 triton_kernels.py DIRECTORY     # needs Triton; compiles, needs no GPU of that architecture
"""
import pathlib
import sys

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def row_stats(x, largest, where, total, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + at, mask=at < columns, other=-1000)
    tl.store(largest + row, tl.max(v, 0))
    tl.store(where + row, tl.argmax(v, 0))
    tl.store(total + row, tl.sum(tl.where(at < columns, v, 0), 0))


@triton.jit
def running_sum(x, out, counts, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + at)
    tl.store(out + at, tl.cumsum(v, 0))
    tl.atomic_add(counts + (v & 15), 1)


@triton.jit
def matmul(a, b, c, n, k, BLOCK: tl.constexpr, STEP: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    step = tl.arange(0, STEP)
    sums = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for at in range(0, k, STEP):
        left = tl.load(a + i[:, None] * k + at + step[None, :])
        right = tl.load(b + (at + step[:, None]) * n + j[None, :])
        sums += tl.dot(left, right)
    tl.store(c + i[:, None] * n + j[None, :], sums)


CASES = [
    (add, {"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32"}, {"BLOCK": 512}, (75, 90)),
    (row_stats, {"x": "*i32", "largest": "*i32", "where": "*i32", "total": "*i32", "columns": "i32"}, {"BLOCK": 512}, (90,)),
    (running_sum, {"x": "*i32", "out": "*i32", "counts": "*i32"}, {"BLOCK": 256}, (80,)),
    (matmul, {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32", "k": "i32"}, {"BLOCK": 64, "STEP": 32}, (80, 90)),
]

for kernel, types, constants, archs in CASES:
    signature = types | {name: "constexpr" for name in constants}
    # Sizes and addresses that are multiples of 16, as a launch finds them: vector accesses, cp.async.
    attributes = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(types) if kernel is matmul or types[name].startswith("*")}
    for arch in archs:
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants, attrs=attributes)
        compiled = triton.compile(source, target=GPUTarget("cuda", arch, 32), options={"num_warps": 4, "num_stages": 3})
        path = pathlib.Path(sys.argv[1]) / f"triton_{kernel.fn.__name__}_sm_{arch}.ptx"
        path.write_text(compiled.asm["ptx"])
        print(path.name, "shared bytes:", compiled.metadata.shared)
