# For vectors.sh and random_ptx.sh: builds a program of tests/sim-machine/vectors without the build
# system and runs its parts side by side, because compiling the PTX takes most of the time.
# Needs $source, the checkout, and $out, a directory.
vectors=$source/tests/sim-machine/vectors
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# build PROGRAM SOURCE...
build() {
  local program=$1
  shift
  (cd "$vectors" && g++ -std=c++20 -O1 -I"$source" -I"$source/include" "$@" -ldl -o "$work/$program") || exit 1
}

# record PROGRAM FILE [OPTION...]: what it prints of the table
record() {
  local program=$1 file=$2 parts part gpu status=0 jobs=()
  shift 2
  gpu=$("$work/$program" "$vectors/rows.txt" --gpu) || { echo "$gpu"; exit 77; }
  parts=$(nproc)
  [ "$parts" -le 8 ] || parts=8
  for part in $(seq "$parts"); do
    "$work/$program" "$vectors/rows.txt" --part "$part/$parts" "$@" >"$work/$part" &
    jobs+=($!)
  done
  for part in "${jobs[@]}"; do wait "$part" || status=1; done
  [ $status = 0 ] || exit 1
  {
    echo "# $gpu; written by tests/gpu/$program.sh"
    for part in $(seq "$parts"); do cat "$work/$part"; done
  } >"$file"
  echo "$file: $(grep -vc '^#' "$file") results on $gpu"
}
