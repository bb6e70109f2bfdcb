#!/usr/bin/env bash
# Random straight-line PTX on the GPU here: writes a line of hashes per program to OUT_DIR/random.txt,
# which is kept in tests/sim-machine/vectors for the simulator to be compared with. Needs what
# tests/gpu/vectors.sh needs.
# Usage: tests/gpu/random_ptx.sh OUT_DIR [RANDOM_PTX-OPTION...]
# To see where a program goes wrong, compare `random_ptx --dump NUMBER` on the two machines.
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:?usage: tests/gpu/random_ptx.sh OUT_DIR [RANDOM_PTX-OPTION...]}
shift
. "$source/tests/gpu/record.sh"

build random_ptx table.cc program.cc gpu.cc random_ptx.cc
record random_ptx "$out/random.txt" "$@"
