#!/usr/bin/env bash
# Sets up, builds, and shows eGPU's main job: count the launches and time the blocks of a CUDA
# program, from its start and while it is running. On the GPU if there is one, else on the
# simulated one. Usage: scripts/demo.sh
set -euo pipefail
cd "$(dirname "$0")/.."

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
show() {
  printf '$ %s\n' "$*"
  "$@"
}

scripts/setup.sh
cmake --preset release >/dev/null
cmake --build --preset release --target egpu-cc egpu-load egpu-map egpu_agent egpu_sim_driver example_vecadd example_vecadd_loop

work=$(mktemp -d)
export EGPU_RUNTIME_DIR=$work/run
loop=
trap '[ -z "$loop" ] || kill "$loop" 2>/dev/null || true; rm -rf "$work"' EXIT
if ldconfig -p | grep -q 'libcuda\.so\.1' && nvidia-smi -L >/dev/null 2>&1; then
  say "On $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)"
else
  export LD_LIBRARY_PATH=$PWD/build/release/lib/sim
  say "There is no NVIDIA GPU here: this runs on the simulated one (docs/simulator.md); its times mean nothing, its counts are exact"
fi
export PATH=$PWD/build/release/bin:$PATH
examples=build/release/examples

say "1. Compile and verify two probes"
show egpu-cc probes/kcount.bpf.c -o "$work/kcount.bpf.o"
show egpu-cc probes/blockdur.bpf.c -o "$work/blockdur.bpf.o"

say "2. Start a program with a probe: it launches vecadd 23 times, 7 blocks each"
show egpu-load "$work/kcount.bpf.o" -- "$examples/vecadd"

say "3. Attach to a program that is running, read its maps from another shell, detach"
"$examples/vecadd_loop" --seconds 60 >"$work/loop.txt" &
loop=$!
until grep -q ready "$work/loop.txt" || ! kill -0 "$loop"; do sleep 0.1; done
printf '$ egpu-load --pid %s blockdur.bpf.o &\n' "$loop"
egpu-load --pid "$loop" "$work/blockdur.bpf.o" >"$work/maps.txt" &
load=$!
sleep 2
show egpu-map list
show egpu-map dump duration
printf '$ kill -INT %s     # Ctrl-C: egpu-load detaches and prints the last state of the maps\n' "$load"
kill -INT "$load"
wait "$load"
cat "$work/maps.txt"

say "4. The program went on, and its results are right"
kill -TERM "$loop"
wait "$loop" && loop=
cat "$work/loop.txt"
