#!/usr/bin/env bash
# Builds the fuzz targets with clang and lets each run for some time, one after the other; what they find stays in
# BUILD/found/TARGET. A finding that is mended goes to tests/fuzz/findings/TARGET, where the tests read it.
#
# usage: run.sh SECONDS [TARGET...]     all targets by default; BUILD is build/fuzz, or $BLCO_FUZZ_BUILD
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[[ ${1-} =~ ^[0-9]+$ ]] || { sed -n 's/^# usage: /usage: /p' "$0" >&2; exit 2; }
seconds=$1
shift
build=${BLCO_FUZZ_BUILD:-$root/build/fuzz}

command -v clang++ >/dev/null || { echo "clang++ is missing: apt-get install clang" >&2; exit 2; }
cmake -S "$root" --preset fuzz -B "$build" >"$build.log" 2>&1 || { cat "$build.log" >&2; exit 1; }
cmake --build "$build" --target fuzzers -j"$(nproc)"
/usr/bin/python3 "$root/tests/fuzz/make_corpus.py" "$build/seeds"

targets=("$@")
[ ${#targets[@]} -gt 0 ] || for program in "$build"/bin/fuzz_*; do targets+=("${program##*/fuzz_}"); done
status=0
for target in "${targets[@]}"; do
  mkdir -p "$build/corpus/$target" "$build/found/$target"
  folders=("$build/corpus/$target" "$build/seeds/$target")
  [ ! -d "$root/tests/fuzz/findings/$target" ] || folders+=("$root/tests/fuzz/findings/$target")
  # HDF5 1.10 leaks what it refuses to make.
  if ASAN_OPTIONS=detect_leaks=0 nice -n 19 "$build/bin/fuzz_$target" -max_total_time="$seconds" -timeout=20 \
      -rss_limit_mb=3000 -max_len=8192 -print_final_stats=1 -artifact_prefix="$build/found/$target/" \
      "${folders[@]}" >"$build/$target.log" 2>&1; then
    echo "$target: nothing found; $(grep -o 'number_of_executed_units: [0-9]*' "$build/$target.log" | grep -o '[0-9]*') runs"
  else
    echo "$target: FOUND; see $build/$target.log"
    status=1
  fi
done
exit "$status"
