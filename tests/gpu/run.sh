#!/usr/bin/env bash
# The tests that need a GPU: builds the examples and benchmarks with nvcc's default flags, then runs
# the end-to-end cases and the overhead table. Needs a package of scripts/package.sh, nvcc, python3.
# Usage: tests/gpu/run.sh PACKAGE.tar.gz [WORK_DIRECTORY [CASE...]]
# Exit status 77, with the reason, where there is no GPU or no nvcc.
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
package=${1:?usage: tests/gpu/run.sh PACKAGE.tar.gz [WORK_DIRECTORY [CASE...]]}
work=${2:-$(mktemp -d)}
shift; shift || true

command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 || { echo "SKIP: no NVIDIA GPU here"; exit 77; }
export PATH="$PATH:/usr/local/cuda/bin"
command -v nvcc >/dev/null || { echo "SKIP: no nvcc here"; exit 77; }

mkdir -p "$work"
tar -C "$work" -xzf "$package"

"$source/examples/build-cuda.sh" "$work/examples" || exit 1

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
status=0
python3 "$source/tests/e2e/e2e.py" --tools "$work/egpu/bin" --examples "$work/examples" --probes "$work/egpu/share/egpu/probes" "$@" || status=$?

if [ $# -eq 0 ]; then
  flags="-O3 -gencode arch=compute_90,code=[sm_90,compute_90]"
  # shellcheck disable=SC2086
  nvcc $flags -o "$work/nbench" "$source/bench/nbench.cu" && nvcc $flags -o "$work/vadd" "$source/bench/vadd.cu" || exit 1
  python3 "$source/tests/gpu/overhead.py" --package "$work/egpu" --nbench "$work/nbench" --vadd "$work/vadd" || status=$?
fi
exit $status
