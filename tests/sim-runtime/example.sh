#!/bin/bash
# example.sh PROGRAM: runs an example; prints a checksum of its output memory, then its verdict.
set -u
dump=$(mktemp)
trap 'rm -f "$dump"' EXIT
options=()
[[ $1 = *vecadd_loop ]] && options=(--launches 11 --threads 1 --rounds 101 --check)  # else as many as a time takes
out=$("$1" "${options[@]}" --dump "$dump") || { echo "$out"; exit 1; }
[ -s "$dump" ] && echo "checksum $(sha256sum <"$dump" | cut -c 1-16)"
echo "$out"
