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

report=build/ci/junit.xml
rm -f "$report"
status=0
ctest --test-dir build/ci --output-on-failure --parallel "$(nproc)" --timeout 600 --output-junit junit.xml "$@" || status=$?

count() { grep -m1 '<testsuite ' -A8 "$report" | grep -o "$1=\"[0-9]*\"" | head -1 | grep -o '[0-9]*'; }
total=$(count tests) failed=$(count failures) skipped=$(count skipped) disabled=$(count disabled)
skipped=$((skipped + disabled))
passed=$((total - failed - skipped))
echo "$passed passed, $failed failed, $skipped skipped"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
