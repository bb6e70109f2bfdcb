#!/usr/bin/env bash
# The tests of the simulated driver on NVIDIA's: each in a process of its own, since a fault or a crash there
# ends what follows. Prints PASS, SKIP with the reason, or FAIL with what differs per test, then the sums;
# status 0 if none fails. Of a test that crashes the last driver calls are printed.
# Usage: tests/gpu/driver-tests.sh TEST-PROGRAM [FILTER]    sim_driver_test, linked without sanitizers
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
program=${1:?usage: tests/gpu/driver-tests.sh TEST-PROGRAM [FILTER]}
command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 || { echo "SKIP: no NVIDIA GPU here"; exit 77; }
# Without eager loading a kernel that waits for the host keeps the next one from being loaded.
export EGPU_TEST_LIBCUDA=libcuda.so.1 EGPU_TEST_KERNELS=$source/tests/sim-driver/kernels.ptx CUDA_MODULE_LOADING=EAGER

passed=0 skipped=0 failed=0
for name in $("$program" --gtest_list_tests --gtest_filter="${2:-*}" | awk '/^[^ ]/ {suite = $1} /^ / {print suite $1}'); do
  out=$(timeout 30 "$program" --gtest_filter="$name" 2>&1)
  status=$?
  if [ $status != 0 ]; then
    failed=$((failed + 1))
    echo "FAIL ($status) $name"
    grep -vE '^\[|^Note|^Running|^$' <<<"$out" | head -n 60
    [ $status -lt 128 ] || { echo "last calls:"; EGPU_TEST_CALLS=1 timeout 30 "$program" --gtest_filter="$name" 2>&1 | tail -n 3; }
  elif grep -q '^\[  SKIPPED' <<<"$out"; then
    skipped=$((skipped + 1))
    echo "SKIP $name: $(grep -A1 ': Skipped' <<<"$out" | sed -n 2p)"
  else
    passed=$((passed + 1))
    echo "PASS $name"
  fi
done
echo "$passed passed, $skipped skipped, $failed failed"
[ $failed = 0 ]
