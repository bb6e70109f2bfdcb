#!/usr/bin/env bash
# Installs the Debian packages that building and testing eGPU needs and that are missing.
# Usage: scripts/setup.sh [--check]    --check: list what is missing, install nothing, exit 1 if anything is
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache lld pkg-config
  clang-19 llvm-19-dev libbpf-dev libelf-dev zlib1g-dev
  libcli11-dev nlohmann-json3-dev libzydis-dev libzycore-dev libzstd-dev liblz4-dev
  libgtest-dev libgmock-dev libbenchmark-dev
  jq scdoc
)

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "${1:-}" = --check ]; then
  printf 'missing: %s\n' "${missing[*]}"
  exit 1
fi
if ! command -v apt-get >/dev/null; then
  echo "setup.sh: error: no apt-get: install these yourself: ${missing[*]}" >&2
  exit 1
fi
sudo=()
if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
echo "setup.sh: installing ${missing[*]}" >&2
"${sudo[@]}" apt-get update -qq
DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
