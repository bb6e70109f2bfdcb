#!/bin/bash
# check.sh LIBRARIES NAME COMMAND...: runs a program on the simulated GPU. It must pass its own checks,
# and its output's checksum must be the one that the H200 gave (h200.txt, of tests/gpu/runtime.sh).
set -u
libraries=$1 name=$2
shift 2
out=$(LD_LIBRARY_PATH=$libraries "$@" 2>&1)
status=$?
echo "$out"
[ $status = 0 ] && [[ $(tail -1 <<<"$out") = PASS* ]] || exit 1

recorded=$(dirname "$0")/h200.txt
wanted=$(awk -v name="$name" '$1 == name {print $2}' "$recorded")
got=$(awk '$1 == "checksum" {print $2}' <<<"$out")
[ "$got" = "$wanted" ] || { echo "$name: checksum '$got', on the H200 '$wanted'"; exit 1; }
