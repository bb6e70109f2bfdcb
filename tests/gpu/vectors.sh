#!/usr/bin/env bash
# What instructions compute on the GPU here: runs the rows of tests/sim-machine/vectors/rows.txt and
# writes OUT_DIR/h200.txt, which is kept in tests/sim-machine/vectors for the simulator to be compared
# with. Needs g++ and a CUDA driver, whichever libcuda.so.1 the dynamic linker finds; no toolkit.
# Usage: tests/gpu/vectors.sh OUT_DIR
# Exit status 77, with the reason, where there is no CUDA driver.
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:?usage: tests/gpu/vectors.sh OUT_DIR}
. "$source/tests/gpu/record.sh"

build vectors table.cc module.cc results.cc gpu.cc vectors.cc
record vectors "$out/h200.txt"
