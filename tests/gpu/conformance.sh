#!/usr/bin/env bash
# bpf2ptx on a GPU: the conformance programs in one launch, then EGPU_DIFF_COUNT (20,000) generated programs
# from seed EGPU_DIFF_SEED (1) on, interpreter against GPU. Needs a package of scripts/package.sh, nothing else.
# Usage: tests/gpu/conformance.sh PACKAGE.tar.gz [WORK_DIRECTORY [MACHINES]]     MACHINES: cuda; e.g. cpu,cuda
# Exit status 77, with the reason, where there is no GPU. The simulated driver counts as one if
# LD_LIBRARY_PATH leads to it.
set -euo pipefail
package=${1:?usage: tests/gpu/conformance.sh PACKAGE.tar.gz [WORK_DIRECTORY [MACHINES]]}
work=${2:-$(mktemp -d)}
machines=${3:-cuda}
jobs=$(nproc)
[ "$jobs" -le 16 ] || jobs=16 # each is a CUDA context
# ptxas takes 17 ms for a program among 25, 29 ms among 100: it puts them all into the kernel.
export CUDA_CACHE_DISABLE=1   # no program comes twice

mkdir -p "$work"
tar -C "$work" -xzf "$package"
bin=$work/egpu/bin

if [ "$machines" = cuda ] && ! ldconfig -p | grep -q 'libcuda\.so\.1' && [ -z "${LD_LIBRARY_PATH:-}" ]; then
  echo "SKIP: no CUDA driver here"
  exit 77
fi
time "$bin/bpf-check" conformance "$work/egpu/share/egpu/conformance" --on="$machines"
time "$bin/bpf-check" differential --on="$machines" --count="${EGPU_DIFF_COUNT:-20000}" \
  --seed="${EGPU_DIFF_SEED:-1}" --jobs="$jobs" --batch="${EGPU_DIFF_BATCH:-25}"
