#!/usr/bin/env bash
# Our CUDA runtime on NVIDIA's driver: builds the programs of tests/sim-runtime/programs and the
# examples with nvcc -cudart shared, and runs each with our libcudart.so.13 and with NVIDIA's. Both
# must pass the program's own checks and give the same checksum of its output. PASS or FAIL per program.
# Needs a package of scripts/package.sh, nvcc, a GPU.
# Usage: tests/gpu/runtime.sh [--record] PACKAGE.tar.gz [WORK_DIRECTORY [PROGRAM...]]
#   --record    write the checksums with NVIDIA's runtime to WORK_DIRECTORY/h200.txt (kept in
#               tests/sim-runtime, for the simulator to be compared with)
# Exit status 77, with the reason, where there is no GPU or no nvcc.
set -uo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
record=
if [ "${1:-}" = --record ]; then record=yes; shift; fi
package=${1:?usage: tests/gpu/runtime.sh [--record] PACKAGE.tar.gz [WORK_DIRECTORY [PROGRAM...]]}
work=${2:-$(mktemp -d)}
shift; shift || true

command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 || { echo "SKIP: no NVIDIA GPU here"; exit 77; }
export PATH="$PATH:/usr/local/cuda/bin"
nvcc=$(command -v nvcc) || { echo "SKIP: no nvcc here"; exit 77; }
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader

mkdir -p "$work/programs"
tar -C "$work" -xzf "$package"
ours=$work/egpu/lib/cudart
theirs=$(dirname "$(find -L "$(dirname "$(readlink -f "$nvcc")")/.." -name libcudart.so.13 2>/dev/null | head -1)")
[ -f "$ours/libcudart.so.13" ] || { echo "FAIL: the package has no libcudart.so.13"; exit 1; }
[ -f "$theirs/libcudart.so.13" ] || { echo "FAIL: nvcc's toolkit has no libcudart.so.13"; exit 1; }

names=("$@")
if [ ${#names[@]} = 0 ]; then
  for file in "$source"/tests/sim-runtime/programs/*.cu; do names+=("$(basename "$file" .cu)"); done
fi
build() {
  local name=$1 options=(-cudart shared)
  case $name in
    per_thread) options+=(--default-stream per-thread) ;;
  esac
  nvcc -std=c++17 -arch="sm_$capability" "$source/tests/sim-runtime/programs/$name.cu" -o "$work/programs/$name" "${options[@]}"
}
export -f build
export source work capability
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'build {}' || { echo "FAIL: build"; exit 1; }

status=0
# report NAME: what the two runs left in $work/NAME.{ours,theirs} (output) and .status
report() {
  local name=$1 ours_sum theirs_sum verdict=PASS why=
  ours_sum=$(awk '$1 == "checksum" {print $2}' "$work/$name.ours")
  theirs_sum=$(awk '$1 == "checksum" {print $2}' "$work/$name.theirs")
  grep -q '^PASS' "$work/$name.theirs" || why+=" [fails with NVIDIA's runtime]"
  grep -q '^PASS' "$work/$name.ours" || why+=" [fails with our runtime]"
  [ "$ours_sum" = "$theirs_sum" ] || why+=" [checksum $ours_sum, with NVIDIA's runtime $theirs_sum]"
  if [ -n "$why" ]; then verdict=FAIL; status=1; fi
  echo "$verdict $name ${theirs_sum:--}$why"
  [ -z "$why" ] || head -n 12 "$work/$name.ours" "$work/$name.theirs"
  [ -z "$record" ] || [ -z "$theirs_sum" ] || echo "$name $theirs_sum" >>"$work/h200.txt"
}
run() {  # run NAME COMMAND...
  local name=$1
  shift
  LD_LIBRARY_PATH=$ours timeout 60 "$@" >"$work/$name.ours" 2>&1 || echo "status $?" >>"$work/$name.ours"
  LD_LIBRARY_PATH=$theirs timeout 60 "$@" >"$work/$name.theirs" 2>&1 || echo "status $?" >>"$work/$name.theirs"
}
rm -f "$work/h200.txt"
first=$work/programs/${names[0]}
LD_LIBRARY_PATH=$ours ldd "$first" | grep -q "libcudart.so.13 => $ours/" || { echo "FAIL: $first does not load our runtime"; exit 1; }
for name in "${names[@]}"; do
  run "$name" "$work/programs/$name"
  report "$name"
done

if [ $# = 0 ]; then
  "$source/examples/build-cuda.sh" "$work/examples" -cudart shared -arch="sm_$capability" || exit 1
  for example in "$work"/examples/*; do
    name=example_$(basename "$example")
    run "$name" "$source/tests/sim-runtime/example.sh" "$example"
    report "$name"
  done
fi
exit $status
