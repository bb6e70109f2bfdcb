#!/usr/bin/env bash
# Text tests of egpu-cc: command, status, and what stdout and stderr must hold.
# Usage: cli.sh EGPU_CC SOURCE_DIR
set -u
cc=$(realpath "$1")
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
passed=0 failed=0

# check NAME STATUS STDOUT_REGEX STDERR_REGEX COMMAND...: "" means empty, "-" anything.
check() {
  local name=$1 status=$2 want_out=$3 want_err=$4 got
  shift 4
  "$@" >out 2>err
  got=$?
  local ok=1
  [ "$got" = "$status" ] || { ok=0; echo "$name: status $got, not $status"; }
  for stream in out err; do
    local want=$want_out
    [ $stream = err ] && want=$want_err
    if [ -z "$want" ]; then
      [ -s $stream ] && { ok=0; echo "$name: std$stream not empty"; }
    elif [ "$want" != - ]; then
      grep -qE -- "$want" $stream || { ok=0; echo "$name: std$stream has no match of: $want"; }
    fi
  done
  if [ $ok = 1 ]; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "--- stdout"; head -5 out; echo "--- stderr"; head -12 err
  fi
}
expect() { # expect NAME CONDITION...
  local name=$1
  shift
  if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "$name: failed: $*"; fi
}

cp "$source"/probes/kcount.bpf.c "$source"/probes/memheat.bpf.c .

check help 0 'egpu-cc \[OPTIONS\] FILE' '' "$cc" --help
check version 0 '^egpu-cc [0-9]+\.[0-9]+\.[0-9]+$' '' "$cc" --version
check no-file 2 '' '^egpu-cc: error: FILE is required' "$cc"
check no-file-hint 2 '' '^egpu-cc: hint: see .egpu-cc --help' "$cc"
check unknown-option 2 '' "hint: did you mean --emit\?" "$cc" --emti=ptx kcount.bpf.c
check no-abbreviation 2 '' 'error: .*--emi' "$cc" --emi=ptx kcount.bpf.c
check bad-emit 2 '' 'error: --emit' "$cc" --emit=asm kcount.bpf.c
check bad-level 2 '' 'error: -O' "$cc" -O7 kcount.bpf.c
check bad-arch 1 '' "^egpu-cc: error: --arch: not one of sm_75 to sm_120: 'sm_10'" "$cc" --arch=sm_10 kcount.bpf.c
check missing 1 '' '^egpu-cc: error: nowhere.bpf.c: No such file or directory' "$cc" nowhere.bpf.c
check same-file 2 '' 'would replace the input' "$cc" kcount.bpf.c -o kcount.bpf.c
check bad-setting 1 '' "^egpu-cc: error: -s: not NAME=VALUE: 'x'" "$cc" --emit=ptx -s x kcount.bpf.c
check setting-and-object 2 '' '^egpu-cc: error: -s: an object keeps its own values' "$cc" -s page_shift=3 memheat.bpf.c

check object 0 '' '' "$cc" kcount.bpf.c
expect default-output test -s kcount.bpf.o
check object-stdout 0 '^.ELF' '' "$cc" kcount.bpf.c -o -
check reread 0 'red.global.add.u64' '' "$cc" --emit=ptx -o - kcount.bpf.o
check ptx 0 '^// program count_launch: gpu.grid/entry' '' "$cc" --emit=ptx -o - kcount.bpf.c
check llvm 0 'define void @prog' '' "$cc" --emit=llvm -o - kcount.bpf.c
check ptx-name 0 '' '' "$cc" --emit=ptx kcount.bpf.c
expect ptx-output test -s kcount.bpf.ptx
check level 0 '' '' "$cc" -O1 kcount.bpf.c -o one.o
check setting 0 ', -2097152;' '' "$cc" --emit=ptx -o - -s page_shift=21 memheat.bpf.c
check wrong-setting 1 '' "egpu-cc: error: memheat.bpf.c: -s page_shif: no such variable; did you mean 'page_shift'" \
  "$cc" --emit=ptx -o - -s page_shif=21 memheat.bpf.c
check manifest 0 '' '^program count_launch: gpu.grid/entry/\*$' "$cc" -v kcount.bpf.c
check manifest-size 0 '' '^  size: 22 eBPF instructions, [0-9]+ PTX statements, [0-9]+ stack bytes$' "$cc" -v kcount.bpf.c
check manifest-cost 0 '' '^  worst case: 22 instructions, 3 memory accesses, 1 atomic, 3 helper calls$' "$cc" -v kcount.bpf.c
check manifest-helpers 0 '' '^  helpers: bpf_map_lookup_elem, bpf_map_update_elem$' "$cc" -v kcount.bpf.c
check manifest-maps 0 '' '^  maps: .rodata \(one copy\), launches \(one copy per SM, summed\)$' "$cc" -v kcount.bpf.c
check manifest-ctx 0 '' '^  ctx: kernel$' "$cc" -v kcount.bpf.c
check manifest-control 0 '' '^  control: 2 branches, none can split a warp$' "$cc" -v kcount.bpf.c
check manifest-control-lane 0 '' '^  control: 3 branches, 3 can split a warp$' "$cc" -v memheat.bpf.c
check manifest-in-listing 0 '^//   worst case: 22 instructions' '' "$cc" --emit=ptx -o - kcount.bpf.c
check no-manifest 0 '' '' "$cc" kcount.bpf.c
check manifest-map 0 '' 'map 0 launches: hash, key 4, value 8 bytes, 1024 entries, one copy per SM, summed' "$cc" -v kcount.bpf.c
mkdir sub
check depfile 0 '' '' "$cc" -MD kcount.bpf.c -o sub/k.bpf.o
expect depfile-name grep -q '^sub/k.bpf.o:' sub/k.bpf.d
expect depfile-content grep -q 'egpu/vmgpu.h' sub/k.bpf.d
cat >defined.c <<'END'
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
#include "own.h"
u64 n;
SEC(EVENT) int f(void *c) { __sync_fetch_and_add(&n, OWN); return 0; }
END
mkdir inc && echo '#define OWN 23' >inc/own.h
check defines 0 'add.u64 .*, 23;' '' "$cc" -I inc -D 'EVENT="gpu/entry"' --emit=ptx -o - defined.c
check plain-c-name 0 '' '' "$cc" -Iinc '-DEVENT="gpu/entry"' defined.c
expect plain-c-output test -s defined.o

echo 'int f( { return 0; }' >syntax.c
check clang-error 1 '' '^syntax.c:1:[0-9]+: error: ' "$cc" syntax.c
expect no-output-after-error test ! -e syntax.o
cat >null.bpf.c <<'END'
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, u32);
	__type(value, u64);
} m SEC(".maps");
SEC("gpu/entry/*")
int f(struct gpu_ctx *c)
{
	u32 k = c->lane_id;
	u64 *v = bpf_map_lookup_elem(&m, &k);
	*v = 1;
	return 0;
}
END
check verifier-error 1 '' '^null.bpf.c:14:[0-9]+: error: .*NULL' "$cc" null.bpf.c
check verifier-line 1 '' '^	\*v = 1;$' "$cc" null.bpf.c
check verifier-caret 1 '' '^[[:space:]]+\^$' "$cc" null.bpf.c
expect verifier-no-output test ! -e null.bpf.o
echo old >null.bpf.o
check verifier-keeps-old 1 '' - "$cc" null.bpf.c
expect old-output-kept grep -q old null.bpf.o
check null-cause 1 '' '`v` may be NULL here: the lookup at line 13 is not checked' "$cc" null.bpf.c
check registers 1 '' '^  registers: r0 = NULL or a value of .m., .*r10 = stack$' "$cc" -v null.bpf.c

cat >causes.bpf.c <<'END'
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
u64 table[16];
SEC("gpu/exit/*")
int second(struct gpu_ctx *c)
{
	u32 i = c->sm_id;
	if (c->block_idx.x > 3)
		table[i] = 1;
	c->sm_id = 4;
	return 0;
}
SEC("gpu/entry/*")
int first(struct gpu_ctx *c)
{
	return bpf_get_current_pid_tgid();
}
END
check causes 1 '' - "$cc" causes.bpf.c
expect causes-in-order test "$(grep -o '^causes.bpf.c:[0-9]*:[0-9]*: error: [a-z0-9_]*' err)" = \
  "$(printf 'causes.bpf.c:%s\n' '9:12: error: 8' '10:11: error: the' '16:9: error: bpf_get_current_pid_tgid')"
expect causes-quiet test "$(grep -c '^  ' err)" = 0
check causes-path 1 '' '^  from line 8, `if \(c->block_idx.x > 3\)`, to line 9$' "$cc" -v causes.bpf.c
cat >path.bpf.c <<'END'
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
SEC("gpu/entry/*")
int f(struct gpu_ctx *c)
{
	u32 big[8];
	if (c->block_idx.x > 3)
		*(volatile u32 *)&big[2] = 1;
	return *(volatile u32 *)&big[2];
}
END
check path 1 '' '^path.bpf.c:9:9: error: the stack is not initialised' "$cc" path.bpf.c
check path-line 1 '' '^  from line 7, `if \(c->block_idx.x > 3\)`, to line 9$' "$cc" path.bpf.c

cat >costs.bpf.c <<'END'
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
u64 table[4], evens, odds, sum, plain, early;
SEC("gpu/entry/*")
int f(struct gpu_ctx *c)
{
	early++;
	__sync_fetch_and_add(&sum, c->thread_idx.x);
	__sync_fetch_and_add(&table[c->lane_id & 3], 1);
	if (c->lane_id & 1) {
		__sync_fetch_and_add(&evens, 1);
		bpf_get_prandom_u32();
	} else {
		__sync_fetch_and_add(&odds, 5);
	}
	plain++;
	return 0;
}
END
check note-one-address 0 '' '^costs.bpf.c:8:2: note: the lanes of a warp add different numbers to one address' "$cc" costs.bpf.c
check note-few-addresses 0 '' '^costs.bpf.c:9:2: note: the lanes of a warp update 4 addresses' "$cc" costs.bpf.c
check note-branch 0 '' '^costs.bpf.c:10:6: note: the lanes of a warp may go both ways here' "$cc" costs.bpf.c
check note-lost-update 0 '' '^costs.bpf.c:16:7: note: threads that do this at once lose updates' "$cc" costs.bpf.c
check note-caret 0 '' '^	    \^$' "$cc" costs.bpf.c
expect note-order test "$(sed -n 's/^costs.bpf.c:\([0-9]*\):.*note: .*/\1/p' err | tr '\n' ' ')" = '7 8 9 10 16 '
check note-count 0 '' '^  notes: 5$' "$cc" -v costs.bpf.c
sed 's|gpu/entry|gpu.block/entry|' costs.bpf.c >block.bpf.c
check block-note 0 '' 'lose updates' "$cc" block.bpf.c
expect block-notes test "$(grep -c note: err)" = 2
for probe in "$source"/probes/*.bpf.c "$source"/bench/probes/*.bpf.c; do
  check "no-note-$(basename "$probe" .bpf.c)" 0 '' '' "$cc" "$probe" -o note.o
done
cat >long.bpf.c <<'END'
#include <egpu/vmgpu.h>
#include <bpf/bpf_helpers.h>
u64 n;
SEC("gpu/entry") int f(void *c) {
	for (int i = 0; i < 2000; i++) { __sync_fetch_and_add(&n, i); asm volatile("" ::: "memory"); }
	return 0;
}
END
check max-insns-default 1 '' 'error: .*(more than|within) 4096 instructions.*--max-insns' "$cc" long.bpf.c
check max-insns-raised 0 '' '' "$cc" --max-insns 20000 long.bpf.c
check max-insns-lowered 1 '' 'error: .*(more than|within) 2 instructions' "$cc" --max-insns=2 kcount.bpf.c
check max-insns-zero 2 '' 'error: --max-insns' "$cc" --max-insns=0 kcount.bpf.c
check max-insns-word 2 '' 'error: .*max-insns' "$cc" --max-insns=many kcount.bpf.c
sed 's/gpu\/entry/host\/alloc/' null.bpf.c >host.bpf.c
check host-event 1 '' 'egpu-cc: error: host.bpf.c: SEC\("host/alloc/\*"\): host events are not supported yet' "$cc" host.bpf.c
head -c 700 kcount.bpf.o >cut.bpf.o
check truncated 1 '' '^egpu-cc: error: cut.bpf.o: not a usable BPF object: truncated' "$cc" --emit=ptx -o - cut.bpf.o
: >empty.bpf.o
check empty-object 1 '' '^egpu-cc: error: empty.bpf.o: not a usable BPF object: no ELF header' "$cc" --emit=ptx -o - empty.bpf.o
check no-clang 1 '' "EGPU_CLANG: no such program: 'none'" env EGPU_CLANG=none "$cc" kcount.bpf.c
check no-clang-in-path 1 '' 'clang is needed' env PATH=/nonexistent "$cc" kcount.bpf.c
check clang-chosen 0 '' 'clang-19 -target bpf' env EGPU_CLANG=clang-19 "$cc" -v kcount.bpf.c
check full-disk 1 '' '^egpu-cc: error: (stdout|/dev/full): No space left on device' "$cc" kcount.bpf.c -o /dev/full
check no-directory 1 '' '^egpu-cc: error: none/x.o: No such file or directory' "$cc" kcount.bpf.c -o none/x.o
sed 's/gpu.grid\/entry\/\*/kprobe\/_Z6vecaddPf/' kcount.bpf.c >legacy.bpf.c
check legacy-note 0 '' 'egpu-cc: note: SEC\("kprobe/_Z6vecaddPf"\) is a legacy spelling; write SEC\("gpu/entry/_Z6vecaddPf"\)' \
  "$cc" legacy.bpf.c

echo "$passed passed, $failed failed"
[ $failed = 0 ]
