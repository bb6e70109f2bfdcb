#!/bin/sh
# Regenerates examples/ptx/*.ptx from the .cu files: needs nvcc 13 (NVCC=..., default: the one
# on PATH or in /usr/local/cuda/bin). The texts are in the tree so that a build needs no toolkit.
set -eu
cd "$(dirname "$0")"
PATH=$PATH:/usr/local/cuda/bin
nvcc=${NVCC:-nvcc}
mkdir -p ptx
for source in ${*:-*.cu}; do
  "$nvcc" -ptx -arch=compute_75 -lineinfo -DEXAMPLE_KERNELS_ONLY -o "ptx/${source%.cu}.ptx" "$source"
  # The absolute path of this checkout says nothing: keep the file's name.
  sed -i -E 's#(\.file[[:space:]]+[0-9]+[[:space:]]+")[^"]*/#\1#' "ptx/${source%.cu}.ptx"
done
