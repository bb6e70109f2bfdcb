#!/bin/bash
# cli.sh VECTORS RANDOM_PTX ROWS: that the two programs see what differs. On the simulated GPU.
set -u
vectors=$1 random=$2 rows=$3 failed=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect NAME STATUS TEXT COMMAND...: exit status, and a text in what it prints.
expect() {
  local name=$1 status=$2 text=$3 out got
  shift 3
  out=$("$@" 2>&1)
  got=$?
  if [ $got != "$status" ] || [[ $out != *"$text"* ]]; then
    echo "$name: status $got, not $status, or no '$text' in: $(head -c 2000 <<<"$out")"
    failed=1
  fi
}

only=(--only 'mul24.hi.u32')
"$vectors" "$rows" "${only[@]}" >"$work/same" || exit 1
expect same 0 '1 rows, 0 differ' "$vectors" "$rows" "${only[@]}" --compare "$work/same"
sed 's/[0-9a-f]\{8\}$/12345670/' "$work/same" >"$work/value"
expect value 1 ', not 12345670' "$vectors" "$rows" "${only[@]}" --compare "$work/value"
expect other_inputs 1 'of other inputs' "$vectors" "$rows" "${only[@]}" --compare <(sed 's/:: ./:: x/' "$work/same")
expect cut_off 1 'cut off' "$vectors" "$rows" "${only[@]}" --compare <(sed 's/.$//' "$work/same")
expect missing 1 '/nowhere: cannot be read' "$vectors" "$rows" --compare /nowhere
expect usage 2 'usage: vectors ROWS' "$vectors"

printf 'list i32 = 1 2\nadd.f32 d, a :: f32 = f99\n' >"$work/bad_type"
printf 'add.f32 d, a :: f32 = u32\n' >"$work/bad_list"
printf '\nlist i32 = 1 2\nneg.s32 d, a :: s32 = s32 :: ulps 3\n' >"$work/bad_bound"
expect bad_type 1 "bad_type:2: unknown type 'f99'" "$vectors" "$work/bad_type"
expect bad_list 1 "bad_list:1: no list 'i32'" "$vectors" "$work/bad_list"
expect bad_bound 1 "bad_bound:3: no exactness: 'ulps 3'" "$vectors" "$work/bad_bound"

# Within the stated error, outside of it.
printf 'list x = 3f800000\nmov.b32 d, a :: f32 = f32:x :: ulp 2\n' >"$work/close"
"$vectors" "$work/close" >"$work/one" || exit 1
expect close 0 '0 differ' "$vectors" "$work/close" --compare <(sed 's/3f800000/3f800002/g' "$work/one")
expect not_close 1 'd is 3f800000, not 3f800003' "$vectors" "$work/close" --compare <(sed 's/3f800000/3f800003/g' "$work/one")

"$random" "$rows" --count 5 >"$work/programs" || exit 1
expect random_same 0 '5 programs, 0 differ' "$random" "$rows" --count 5 --compare "$work/programs"
"$random" "$rows" --count 5 --part 3/5 >"$work/third"
expect random_part 0 '' cmp "$work/third" <(sed -n 3p "$work/programs")
awk '{ $3 = "00000000"; $4 = substr($4, 1, 20) "zz" substr($4, 23); print }' "$work/programs" >"$work/wrong"
expect random_result 1 'program0: result 10: ' "$random" "$rows" --count 5 --compare "$work/wrong"
expect random_dump 0 $'\n10 ' "$random" "$rows" --dump 0
expect random_seed 1 'another program was recorded' "$random" "$rows" --count 5 --seed 2 --compare "$work/programs"
expect random_fewer 1 'holds fewer programs' "$random" "$rows" --count 6 --compare "$work/programs"
expect random_alone 0 '5 programs, 0 differ' "$random" <(cat "$rows"; printf 'list alone = 1 2\nbrev.b32 d, a :: b32 = b32:alone :: alone\n') \
  --count 5 --compare "$work/programs"
expect random_usage 2 'usage: random_ptx ROWS' "$random" "$rows" --part 6/5

exit $failed
