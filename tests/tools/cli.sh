#!/usr/bin/env bash
# Text tests of bpf-run: program, status, stdout and stderr.
# Usage: cli.sh BPF_RUN SIM_DRIVER_DIR
set -u
run=$1 sim_dir=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

# check NAME STATUS STDOUT STDERR_REGEX PROGRAM ARGUMENT...: stdout as a whole; STDERR "" is empty.
check() {
  local name=$1 status=$2 want=$3 want_err=$4 program=$5 got out
  shift 5
  out=$(printf '%s\n' "$program" | "$run" "$@" 2>"$work/err")
  got=$?
  local ok=1
  [ "$got" = "$status" ] || { ok=0; echo "$name: status $got, not $status"; }
  [ "$out" = "$want" ] || { ok=0; echo "$name: stdout '$out', not '$want'"; }
  if [ -z "$want_err" ]; then
    [ -s "$work/err" ] && { ok=0; echo "$name: stderr: $(head -3 "$work/err")"; }
  else
    grep -qE -- "$want_err" "$work/err" || { ok=0; echo "$name: stderr '$(head -3 "$work/err")' has no $want_err"; }
  fi
  if [ $ok = 1 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

exit='95 00 00 00 00 00 00 00'
forty_two="b7 00 00 00 2a 00 00 00 $exit"
# r0 = *(u64 *)(r1 +0); r0 += r2
memory_and_length="79 10 00 00 00 00 00 00 0f 20 00 00 00 00 00 00 $exit"
# gotol +1 over r0 = 1 (which is dead code), after r0 = 7
gotol="b7 00 00 00 07 00 00 00 06 00 00 00 01 00 00 00 b7 00 00 00 01 00 00 00 $exit"
# if r2 != 0 gotol-like path: r0 = 7; if r2 == 0 goto +1; gotol +1; r0 = 1; exit
gotol_live="b7 00 00 00 07 00 00 00 15 02 01 00 00 00 00 00 06 00 00 00 01 00 00 00 b7 00 00 00 01 00 00 00 $exit"

# r0 = *(u32 *)(r1 +2)
word_at_2="61 10 02 00 00 00 00 00 $exit"
# call bpf_ktime_get_ns; r0 = 2
clock="85 00 00 00 05 00 00 00 b7 00 00 00 02 00 00 00 $exit"

backends='interp sim cpu'
# The CUDA back end on the simulated driver.
if [ -e "$sim_dir/libcuda.so.1" ]; then
  backends="$backends cuda"
  export LD_LIBRARY_PATH=$sim_dir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
fi
for backend in $backends; do
  check "$backend" 0 2a '' "$forty_two" --backend=$backend
  check "$backend-memory" 0 1122334455667790 '' "$memory_and_length" '88 77 66 55 44 33 22 11' --backend=$backend
  check "$backend-memory-first" 0 1122334455667790 '' "$memory_and_length" 8877665544332211 --backend=$backend
  check "$backend-gotol" 0 7 '' "$gotol_live" 01 --backend=$backend
  check "$backend-gotol-not" 0 1 '' "$gotol_live" --backend=$backend
  check "$backend-dead-code" 0 7 '' "$gotol" --no-verify --backend=$backend
  check "$backend-refused" 1 '' 'error: .*dead code' "$gotol" --verify --backend=$backend
  check "$backend-refused-runs" 0 7 'note: runs unverified: .*dead code' "$gotol" --backend=$backend
  check "$backend-misaligned" 0 44332211 'note: runs unverified: ' "$word_at_2" 'aa  bb  11  22  33  44  cc  dd  ' --backend=$backend
  check "$backend-clock" 0 2 '' "$clock" --backend=$backend
  check "$backend-batch" 0 $'2a\n1122334455667790\n2a' '' \
    "$forty_two"$'\n'"$memory_and_length|8877665544332211"$'\n'"$forty_two|00" --batch --backend=$backend
done
for backend in interp sim; do
  check "$backend-outside" 1 '' 'error: ' "79 10 08 00 00 00 00 00 $exit" 8877665544332211 --no-verify --backend=$backend
done
check protocol-words 0 2a '' "$forty_two" '' --debug
check hex-without-spaces 0 2a '' "$(echo "$forty_two" | tr -d ' ')"
check half-byte 1 '' 'half a byte' 'b7 0'
check no-hex 1 '' "'x' is no hexadecimal digit" 'x7'
check no-whole-insn 1 '' '3 bytes are no whole number' 'b7 00 00'
check nothing 1 '' 'no program on stdin' ''
check unknown-opcode 1 '' 'unknown opcode 0xff' "ff 00 00 00 00 00 00 00 $exit"
check unused-field 1 '' "unused field 'src'" "b7 10 00 00 2a 00 00 00 $exit"
check bad-backend 1 '' "interp, cpu, sim or cuda, not 'gpu'" "$forty_two" --backend=gpu
check bad-argument 1 '' "unexpected argument '--fast'" "$forty_two" --fast
check too-long 1 '' 'more than 100 instructions' "b7 00 00 00 00 00 00 00 07 00 00 00 01 00 00 00 a5 00 fe ff e8 03 00 00 $exit" --max-insns=100
check no-helper 1 '' 'error: .*999' "85 00 00 00 e7 03 00 00 $exit" --no-verify
check callx 1 '' 'calls through a register' "8d 02 00 00 00 00 00 00 $exit"
check kfunc 1 '' 'kernel functions' "85 20 00 00 2a 00 00 00 $exit"
check no-end 1 '' 'executed' "05 00 ff ff 00 00 00 00" --no-verify

clang=$(command -v clang-19 || command -v clang)
if [ -n "$clang" ]; then
  printf '%s\n' 'unsigned long f(unsigned long *p, unsigned long n) { return *p * n; }' >"$work/f.c"
  "$clang" -target bpf -O2 -c "$work/f.c" -o "$work/f.o" || failed=$((failed + 1))
  elf=$(od -An -v -tx1 "$work/f.o" | tr -d '\n')
  # Global data: .rodata, .data and .bss.
  printf '%s\n' 'static const unsigned long row[4] = {3, 5, 7, 11}; static unsigned long d = 13, b;' \
    '__attribute__((section("gpu/entry"), used)) unsigned long f(unsigned long *p) {' \
    '  *(volatile unsigned long *)&b += row[*p & 3]; return *(volatile unsigned long *)&b * d; }' >"$work/g.c"
  "$clang" -target bpf -O2 -g -c "$work/g.c" -o "$work/g.o" || failed=$((failed + 1))
  globals=$(od -An -v -tx1 "$work/g.o" | tr -d '\n')
  for backend in $backends; do
    check "$backend-elf" 0 28 '' "$elf" '05 00 00 00 00 00 00 00' --elf --backend=$backend
    check "$backend-globals" 0 5b '' "$globals" '06 00 00 00 00 00 00 00' --elf --backend=$backend
  done
  check no-elf 1 '' 'error: ' "$forty_two" --elf
else
  echo "no clang: --elf is not tested"
fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]
