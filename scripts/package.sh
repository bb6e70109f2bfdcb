#!/usr/bin/env bash
# Packs the portable build with compiled probes into .portable/egpu.tar.gz, for a machine without
# LLVM, libbpf or clang. There: tar xzf egpu.tar.gz; egpu/bin/egpu-load ...; tests: tests/gpu/*.sh
# Usage: scripts/package.sh [BUILD_DIRECTORY]      default build/portable (made if need be)
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build/portable}

if [ "$build" = build/portable ] && { [ ! -x "$build/bin/egpu-load" ] || [ ! -x "$build/bin/bpf-check" ]; }; then
  cmake --preset portable >/dev/null
  cmake --build --preset portable --target egpu-cc egpu-load egpu-map egpu_agent bpf-check
fi
cmake --build "$build" --target egpu_sim_runtime egpu_sim_runtime_static
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/egpu
mkdir -p "$root"/{bin,lib/cudart,share/egpu/probes,include}
cp "$build"/bin/egpu-{load,map,cc} "$build/bin/bpf-check" "$root/bin/"
cp -r tests/tools/conformance "$root/share/egpu/"
cp "$build/lib/libegpu-agent.so" "$root/lib/"
# Debian has no static Zydis: its two libraries travel along (RUNPATH is $ORIGIN/../lib).
for library in libZydis.so.4.0 libZycore.so.1.4; do
  cp -L "/usr/lib/x86_64-linux-gnu/$library" "$root/lib/"
done
# Our CUDA runtime, for the machine's own driver: the simulated driver must not lie next to it.
cp "$build"/lib/sim/libcudart.so.13 "$build"/lib/sim/libcudart_static.a "$root/lib/cudart/"
cp -r include/egpu "$root/include/"
for source in probes/*.bpf.c bench/probes/*.bpf.c tests/e2e/probes/*.bpf.c; do
  "$build/bin/egpu-cc" "$source" -o "$root/share/egpu/probes/$(basename "${source%.c}").o"
done
mkdir -p .portable
tar -C "$stage" -czf .portable/egpu.tar.gz egpu
ls -l .portable/egpu.tar.gz
