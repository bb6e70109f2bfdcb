#!/bin/bash
# egpu-sim.sh EGPU-SIM VECADD: options, messages, exit statuses, and a run.
set -u
sim=$1 vecadd=$2 failed=0
unset LD_LIBRARY_PATH EGPU_SIM_DEVICES EGPU_SIM_CC EGPU_SIM_SEED EGPU_SIM_SMS EGPU_SIM_TRACE EGPU_SIM_TRACE_FILE EGPU_SIM_CHECK_SHARED

# expect NAME STATUS TEXT ARGUMENT...: exit status, and a text in what it prints.
expect() {
  local name=$1 status=$2 text=$3 out got
  shift 3
  out=$("$sim" "$@" 2>&1)
  got=$?
  if [ $got != "$status" ] || [[ $out != *"$text"* ]]; then
    echo "$name: status $got, not $status, or no '$text' in: $out"
    failed=1
  fi
}

expect help 0 'Usage: egpu-sim' --help
expect version 0 'egpu-sim ' --version
expect no_command 125 'error: no command'
expect no_command_after_options 125 'error: no command' --devices 2 --
expect unknown_option 125 "unknown option '--gpus'" --gpus 2 -- true
expect bad_devices 125 "--devices: not a number from 0 to 64: '65'" --devices 65 -- true
expect bad_devices_text 125 "--devices: not a number from 0 to 64: '2x'" --devices=2x -- true
expect bad_cc 125 "--cc: not a compute capability like 9.0: '9'" --cc 9 -- true
expect bad_sms 125 "--sms: not a number from 1 to 1024: '0'" --sms 0 -- true
expect missing_value 125 '--seed: needs a number' --seed
expect not_found 127 'no-such-command: No such file' -- no-such-command
expect cannot_run 126 'Permission denied' -- /etc/passwd
expect status_of_command 7 '' -- sh -c 'exit 7'
expect environment 0 '3 8.6 11 5 1 f 1' --devices 3 --cc=8.6 --seed 11 --sms 5 --trace-calls --trace f --check-shared -- sh -c 'echo $EGPU_SIM_DEVICES $EGPU_SIM_CC $EGPU_SIM_SEED $EGPU_SIM_SMS $EGPU_SIM_TRACE $EGPU_SIM_TRACE_FILE $EGPU_SIM_CHECK_SHARED'
expect without_dashes 0 'words of mine' echo words of mine
expect run 0 'PASS vecadd' -- "$vecadd"
expect trace_calls 0 'egpu-sim: cuInit = 0' --trace-calls -- "$vecadd"
trace=$(mktemp)
expect trace 0 'PASS vecadd' --trace "$trace" -- "$vecadd"
grep -q 'ld.global' "$trace" || { echo "FAIL trace: no load in $(head -3 "$trace")"; failed=1; }
rm -f "$trace"
expect no_file 125 'needs a file' --trace
expect flag_value 125 'takes no value' --check-shared=1 -- true

LD_LIBRARY_PATH=/nowhere expect keeps_path 0 '/lib/sim:/nowhere' -- sh -c 'echo $LD_LIBRARY_PATH'

# A program with kernels but neither of our runtimes is explained, and run all the same.
copy=$(mktemp) section=$(mktemp)
trap 'rm -f "$copy" "$section"' EXIT
head -c 24 /dev/zero >"$section"
objcopy --add-section .nvFatBinSegment="$section" "$(type -P true)" "$copy" && chmod +x "$copy" || exit 1
expect nvidia_runtime 0 "has NVIDIA's CUDA runtime linked into it" -- "$copy"
expect hint 0 'NVCC_PREPEND_FLAGS=-L/' -- "$copy"
printf 'egpu-cudart: CUDA runtime of eGPU' >>"$copy"
[ -z "$("$sim" -- "$copy" 2>&1)" ] || { echo "our_runtime: is warned of"; failed=1; }

exit $failed
