#!/bin/sh
# Builds the examples as CUDA runtime programs: build-cuda.sh OUTDIR [NVCC-FLAG]...
# Default flags otherwise (static cudart, SASS and PTX of nvcc's default architecture).
set -eu
[ $# -ge 1 ] || { echo "usage: $0 OUTDIR [NVCC-FLAG]..." >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
cd "$(dirname "$0")"
PATH=$PATH:/usr/local/cuda/bin
nvcc=${NVCC:-nvcc}
for part in example.cc options.cc gpu_runtime.cu; do
  "$nvcc" -std=c++20 "$@" -c -o "$out/${part%.*}.o" "common/$part"
done
common="$out/example.o $out/options.o $out/gpu_runtime.o"
for source in *.cu; do
  # shellcheck disable=SC2086 # three files
  "$nvcc" -std=c++20 "$@" -o "$out/${source%.cu}" "$source" $common
done
# shellcheck disable=SC2086
"$nvcc" -std=c++20 "$@" -DVECADD_KERNEL='"ns"' -o "$out/vecadd_ns" vecadd.cu $common
rm $common
