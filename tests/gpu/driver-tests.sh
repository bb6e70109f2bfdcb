#!/usr/bin/env bash
# The tests of the simulated driver on NVIDIA's: each in a process of its own, since misuse that the
# simulator refuses may end a process there. Prints one line per test and the expectations that fail:
# where the two drivers differ.
# Usage: tests/gpu/driver-tests.sh TEST-PROGRAM [FILTER]    sim_driver_test, linked without sanitizers
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
program=${1:?usage: tests/gpu/driver-tests.sh TEST-PROGRAM [FILTER]}
command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 || { echo "SKIP: no NVIDIA GPU here"; exit 77; }
# Without eager loading a kernel that waits for the host keeps the next one from being loaded.
export EGPU_TEST_LIBCUDA=libcuda.so.1 EGPU_TEST_KERNELS=$source/tests/sim-driver/kernels.ptx CUDA_MODULE_LOADING=EAGER

tests=$("$program" --gtest_list_tests --gtest_filter="${2:-*}" | awk '/^[^ ]/ {suite = $1} /^ / {print suite $1}')
for name in $tests; do
  out=$(timeout 30 "$program" --gtest_filter="$name" 2>&1)
  status=$?
  echo "$([ $status = 0 ] && echo PASS || echo "FAIL ($status)") $name"
  [ $status = 0 ] || grep -vE '^\[|^Note|^Running|^$' <<<"$out" | head -n 40
done
