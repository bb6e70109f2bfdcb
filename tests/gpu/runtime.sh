#!/usr/bin/env bash
# Our CUDA runtime on NVIDIA's driver: builds the programs of tests/sim-runtime/programs and the
# examples with nvcc -cudart shared, and runs each with our libcudart.so.13 and with NVIDIA's; builds the
# programs with -cudart static and our libcudart_static.a, too. All must pass the program's own checks and
# give the same checksum of its output. PASS or FAIL per program.
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
for file in libcudart.so.13 libcudart_static.a; do
  [ -f "$ours/$file" ] || { echo "FAIL: the package has no $file"; exit 1; }
done
[ -f "$theirs/libcudart.so.13" ] || { echo "FAIL: nvcc's toolkit has no libcudart.so.13"; exit 1; }

names=("$@")
if [ ${#names[@]} = 0 ]; then
  for file in "$source"/tests/sim-runtime/programs/*.cu; do names+=("$(basename "$file" .cu)"); done
fi
build() {
  local name=$1 program=$work/programs/$1 options=(-std=c++17 -arch="sm_$capability")
  case $name in
    per_thread) options+=(--default-stream per-thread) ;;
  esac
  nvcc "${options[@]}" -c "$source/tests/sim-runtime/programs/$name.cu" -o "$program.o" || return 255
  nvcc "${options[@]}" "$program.o" -o "$program" -cudart shared || return 255
  nvcc "${options[@]}" "$program.o" -o "$program.static" -cudart static -L"$ours" || return 255
}
export -f build
export source work capability ours
printf '%s\n' "${names[@]}" | xargs -P "$(nproc)" -I{} bash -c 'build {}' || { echo "FAIL: build"; exit 1; }

status=0
checksum_of() { awk '$1 == "checksum" {print $2}' "$work/$1"; }
# report NAME RUNTIME...: what the runs left in $work/NAME.RUNTIME; the last of them is NVIDIA's.
report() {
  local name=$1 runtime sum theirs_sum verdict=PASS why=
  shift
  theirs_sum=$(checksum_of "$name.theirs")
  for runtime in "$@"; do
    sum=$(checksum_of "$name.$runtime")
    grep -q '^PASS' "$work/$name.$runtime" || why+=" [fails with the runtime $runtime]"
    [ "$sum" = "$theirs_sum" ] || why+=" [checksum with the runtime $runtime: $sum]"
  done
  if [ -n "$why" ]; then verdict=FAIL; status=1; fi
  echo "$verdict $name ${theirs_sum:--} ($*)$why"
  [ -z "$why" ] || head -n 12 "${@/#/$work/$name.}"
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
  grep -q 'egpu-cudart: CUDA runtime of eGPU' "$work/programs/$name.static" || { echo "FAIL: $name.static has not our runtime"; exit 1; }
  timeout 60 "$work/programs/$name.static" >"$work/$name.static" 2>&1 || echo "status $?" >>"$work/$name.static"
  report "$name" ours static theirs
done

if [ $# = 0 ]; then
  "$source/examples/build-cuda.sh" "$work/examples" -cudart shared -arch="sm_$capability" || exit 1
  for example in "$work"/examples/*; do
    name=example_$(basename "$example")
    run "$name" "$source/tests/sim-runtime/example.sh" "$example"
    report "$name" ours theirs
  done
fi
exit $status
