#!/usr/bin/env bash
# What the kernels of tests/ptx/corpus compute on the GPU here: writes OUT_DIR/corpus.txt, which is kept in
# tests/sim-machine/vectors for the simulator to be compared with. Needs what tests/gpu/vectors.sh needs.
# Usage: tests/gpu/corpus.sh OUT_DIR
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:?usage: tests/gpu/corpus.sh OUT_DIR}
. "$source/tests/gpu/record.sh"

build corpus gpu.cc corpus.cc
"$work/corpus" "$source/tests/ptx/corpus" --gpu || exit
"$work/corpus" "$source/tests/ptx/corpus" >"$out/corpus.txt" && echo "$out/corpus.txt: $(grep -vc '^#' "$out/corpus.txt") kernels"
