#!/usr/bin/env bash
# Builds blco and runs every test; then those of the library and the fuzzers' seeds again under AddressSanitizer and
# UndefinedBehaviorSanitizer, and those of threads under ThreadSanitizer. Says how many were skipped, and why, and
# whether CUDA was there.
#
# usage: test.sh [release] [asan] [tsan]     all three by default
# With BLCO_TEST_MINUTES set, a sanitizer's part that would not end within so many minutes is left out, and said so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(release asan tsan)
for part in "${parts[@]}"; do
  [[ $part =~ ^(release|asan|tsan)$ ]] || { echo "usage: $0 [release] [asan] [tsan]" >&2; exit 2; }
done
tools/install_dependencies.sh --tests

jobs=$(nproc)
declare -A folder=([release]=build/release [asan]=build/test-asan [tsan]=build/test-tsan)

# Configures and builds one part: its preset's name, then options of CMake, then "--" and targets, or none for all.
build() {
  local part=$1 options=()
  shift
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -eq 0 ] || shift
  cmake --preset "$part" -B "${folder[$part]}" -DBLCO_TESTS=ON ${options[@]+"${options[@]}"} &&
    cmake --build "${folder[$part]}" -j"$jobs" ${1+--target "$@"}
}

# Runs the tests of a part that the options of ctest choose; its report is for the summary.
run_tests() {
  local part=$1
  shift
  ctest --test-dir "${folder[$part]}" --output-on-failure -j"$jobs" --output-junit "$PWD/${folder[$part]}/tests.xml" "$@"
}

# Sanitizers: no CUDA, no debugger's information (build with the preset itself for line numbers), and tests compiled
# the quick way, since this is most of the work. The emulator's tests are left out: they bring their own sanitizers,
# and have run under both in the release part. So is what runs the programs: fuzzers read the same bad files.
quick=(-DBLCO_QUICK_TESTS=ON -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1)

run_part() {
  case $1 in
    release) build release && run_tests release ;;
    asan) build asan "${quick[@]}" -- test_blco test_io test_kernels test_engine fuzzers &&
      run_tests asan -R '^((blco|io|kernels|engine)\.[A-Z]|fuzz\.)' ;;
    # What streams: ingest, the streamer, fits, scans of chunks, and the host backend, by more than one thread.
    tsan) build tsan "${quick[@]}" -- test_engine test_kernels &&
      run_tests tsan -R '^(engine\.[A-Z]|kernels\.(HostBackend|Mttkrp|PassOutput))' \
        -E 'OneThread|1_thread|Reference|SummedEvents|Planner|DrawsTheSame|FittedShape|InAFile|HaveAKey|_f32' ;;
  esac
}

# Percent of the release part's time that another one takes, with room to spare.
declare -A cost=([asan]=68 [tsan]=45)
release_seconds=0

has_time() {
  [ -n "${BLCO_TEST_MINUTES:-}" ] && [ "$1" != release ] || return 0
  [ $((SECONDS + release_seconds * cost[$1] / 100)) -le $((BLCO_TEST_MINUTES * 60)) ]
}

status=0
reports=()
left_out=()
for part in "${parts[@]}"; do
  if ! has_time "$part"; then
    left_out+=("$part")
    continue
  fi
  echo "== $part"
  started=$SECONDS
  rm -f "${folder[$part]}/tests.xml"
  reports+=("$part=${folder[$part]}/tests.xml")
  # In a shell of its own, where a failing step does not end this one.
  (run_part "$part") || status=1
  if [ "$part" = release ]; then release_seconds=$((SECONDS - started)); fi
done

echo
cache=build/release/CMakeCache.txt
if grep -qs '^CMAKE_CUDA_COMPILER:[^=]*=.*/' "$cache"; then
  echo "CUDA: found ($(sed -n 's/^CMAKE_CUDA_COMPILER:[^=]*=//p' "$cache"))"
else
  echo "CUDA: no nvcc was found; the CUDA parts were left out"
fi
for part in "${left_out[@]}"; do
  echo "$part: left out, since $((SECONDS / 60)) of the $BLCO_TEST_MINUTES minutes are gone; run tools/test.sh $part"
done
tools/summarize_tests.py "${reports[@]}" || status=1
exit "$status"
