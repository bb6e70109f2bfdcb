#!/usr/bin/env bash
# Sets up, builds (preset ci: Debug, ASan, UBSan, warnings are errors) and runs all tests.
# Usage: scripts/test.sh [CTEST_ARGUMENT...]     e.g. scripts/test.sh -R fatbin
# Last line: "N passed, N failed, N skipped". Exit status 0 only if nothing failed and something passed.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/local/cuda/bin" # nvcc and ptxas, where there are any: tests skip without them

scripts/setup.sh
cmake --preset ci >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
rm -f build-configure.log
cmake --build --preset ci

# A failed test runs once more: those that stop, attach to and kill live processes depend on how the
# machine schedules them. What passed only then is listed before the last line.
log=build/ci/ctest.log
status=0
ctest --test-dir build/ci --output-on-failure --parallel "$(nproc)" --timeout 600 --repeat until-pass:2 "$@" 2>&1 |
  tee "$log" || status=$?

# ctest's own summary: "99% tests passed, 1 tests failed out of 665".
summary=$(grep -E '^[0-9]+% tests passed' "$log" || true)
failed=$(sed -E 's/.*, ([0-9]+) tests failed out of.*/\1/' <<<"$summary")
total=$(sed -E 's/.* out of ([0-9]+).*/\1/' <<<"$summary")
skipped=$(grep -cE '\*\*\*(Skipped|Not Run)' "$log" || true)
passed=$((${total:-0} - ${failed:-0} - skipped))
sed -nE '/\*\*\*(Failed|Timeout)/s/^.*Test +#[0-9]+: ([^ ]+).*/failed at least once: \1/p' "$log" | sort -u
echo "$passed passed, ${failed:-0} failed, $skipped skipped"
[ "$status" -eq 0 ] && [ "${failed:-1}" -eq 0 ] && [ "$passed" -gt 0 ]
