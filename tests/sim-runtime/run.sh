#!/bin/bash
# run.sh LIBRARIES SOURCE OUTPUT NVCC-OPTION...: compiles a program and runs it on the simulated GPU
# (check.sh). 77: skipped, no nvcc.
set -u
libraries=$1 source=$2 output=$3
shift 3
nvcc=$(PATH=$PATH:/usr/local/cuda/bin command -v nvcc) || { echo "skipped: no nvcc on PATH or in /usr/local/cuda/bin"; exit 77; }
"$nvcc" -std=c++17 -arch=sm_90 "$source" -o "$output" "$@" || exit 1
exec "$(dirname "$0")/check.sh" "$libraries" "$(basename "$source" .cu)" "$output"
