#!/usr/bin/env bash
# Builds blco and runs every test; then those of the library again, and the fuzzers' seeds, under AddressSanitizer and
# UndefinedBehaviorSanitizer, and those of threads under ThreadSanitizer. Says how many were skipped, and why, whether
# CUDA was there, and what each part took: minutes, and the processor's seconds of building and of testing. A part that
# could not be built or run is a failure.
#
# usage: test.sh [release] [asan] [tsan]     all three by default
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(release asan tsan)
for part in "${parts[@]}"; do
  [[ $part =~ ^(release|asan|tsan)$ ]] || { echo "usage: $0 [release] [asan] [tsan]" >&2; exit 2; }
done
tools/install_dependencies.sh --tests

# What the Python module is built and tested with, and pyttb and tensorly, which tests hold the methods beside: a virtual
# environment in build/, made again when they change. It has its name only when it is whole.
packages=(nanobind==3.1.0 nanobind-backend==1.0.0 numpy scipy sparse pandas pyarrow scikit-learn h5py hdf5plugin
          matplotlib polars duckdb mypy pytest pyttb==1.8.6 tensorly==0.10.0)
environment=build/python
has_environment() {
  [ "$(cat "$environment/packages" 2>/dev/null)" = "${packages[*]}" ]
}
make_environment() {
  local new=$environment.new python=/usr/bin/python3
  [ -x "$python" ] || python=python3
  rm -rf "$environment" "$new" && mkdir -p build &&
    "$python" -m venv "$new" >"$new.log" 2>&1 &&
    "$new/bin/pip" install --quiet --retries 1 --timeout 20 "${packages[@]}" >>"$new.log" 2>&1 &&
    echo "${packages[*]}" >"$new/packages" && mv "$new" "$environment" && rm -f "$new.log"
}

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

# Tests write thousands of small files and wait until each is on the disk; in memory, where there is enough, none waits.
temporary=${TMPDIR:-/tmp}
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$(df --output=avail -k /dev/shm | tail -1)" -ge $((4 << 20)) ]; then
  temporary=/dev/shm
fi

# Appends to a part's list what its processes took since the last call: the processor's seconds, user's and system's.
noted=0
note_seconds() {
  local list=${folder[$1]}/seconds total
  times >"$list.times"
  total=$(awk -F '[ms ]+' 'NR == 2 { print int(60 * $1 + $2 + 60 * $3 + $4) }' "$list.times")
  echo "$2 $((total - noted)) s" >>"$list"
  noted=$total
}

# Runs the tests of a part that the options of ctest choose; its report, with all that they print, is for the summary.
# They wait for each other's processes, so that more of them run than there are cores.
run_tests() {
  local part=$1 code=0
  shift
  note_seconds "$part" building
  TMPDIR=$temporary ctest --test-dir "${folder[$part]}" --output-on-failure -j$((jobs + 2)) --no-tests=error \
    --output-junit "$PWD/${folder[$part]}/tests.xml" --test-output-size-passed 100000000 \
    --test-output-size-failed 100000000 "$@" || code=$?
  note_seconds "$part" testing
  return "$code"
}

# The device's code is compiled as far as devices of every architecture translate it when they load it, and without most
# optimisations where no device would run it. What it becomes is looked at by the tests of machine code, which compile
# it themselves. The Python module comes last: its packages arrive while the rest is built.
build_release() {
  local code=0 device_code=(-DCMAKE_CUDA_ARCHITECTURES=80-virtual)
  [ -e /dev/nvidiactl ] || device_code+=("-DCMAKE_CUDA_FLAGS=-Xcicc -O1")
  if ! has_environment; then
    make_environment &
    build release "${device_code[@]}" -DBLCO_PYTHON_MODULE=OFF || code=$?
    wait $! ||
      echo "Not all packages are to be had (see build/python.new.log); tests of the Python module are left out, and" \
           "those beside pyttb and tensorly will be skipped" >&2
    [ "$code" -eq 0 ] || return "$code"
  fi
  ! has_environment ||
    build release "${device_code[@]}" -DBLCO_PYTHON_MODULE=ON "-DPython_EXECUTABLE=$PWD/$environment/bin/python"
}

# Sanitizers: no CUDA, no debugger's information (build with the preset itself for line numbers), tests compiled the
# quick way, since this is most of the work, and no checks of what AddressSanitizer sees as well when it happens. The
# emulator's tests are left out: they bring their own sanitizers, and have run under both in the release part. So is
# what runs the programs: fuzzers read the same bad files.
quick=(-DBLCO_QUICK_TESTS=ON "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -fno-sanitize=null,vptr,object-size")

# What the sanitizers leave out: of the backends in the tests of kernels, the serial one, which is the tests' own, and
# three threads, which do what two do; and long tests that do on more data what their neighbours do.
not_sanitized='-*/reference_*:*/host2_*'
not_sanitized+=':Gcp.PoissonFitsRatesFarBelowTheLogarithmsLeast:Workers.SendWhatThePlanOfAClusterCounts'
not_sanitized+=':OrderChoice.NamesABudgetThatSuffices:*.GivesTheBytesOfTheCpuForRealTensors'

# Under ThreadSanitizer, moreover: tests of one thread or of what is computed on one only, of one loop in every precision
# or for every processor, and more of those long ones.
without_threads="$not_sanitized:*/host1_*:*_f32*:*_mixed*:*OneThread*:*1_thread*:*Reference*:*SummedEvents*"
without_threads+=':*FittedShape*:*InAFile*:*HaveAKey*:*RealTensors*:*OnEveryInstructionSet*:ColumnSlabs.*'
without_threads+=':TuckerRanks.KeepsTheModelOfRanksBeyondWhichTheBudgetHoldsNone:DeviceIngest.SortsInRuns*'
without_threads+=':FinalModes.*:FourModes.Entries*:*.GiveTheModelOfOne/gcp_adam:MemoryTensor.TakesEveryIntegerType*'

run_part() {
  case $1 in
    release) build_release && run_tests release ;;
    asan) build asan "${quick[@]}" -- test_blco test_io test_kernels test_engine test_bench fuzzers &&
      GTEST_FILTER=$not_sanitized run_tests asan -R '^((blco|io|kernels|engine|bench)\.[A-Z]|fuzz\.)' ;;
    # What streams: ingest, the streamer, fits, scans of chunks, the host backend, by more than one thread. The preset
    # shows no warnings: with precompiled headers GCC 12 warns of plain sums of strings under this sanitizer (its bug
    # 105651).
    tsan) build tsan "${quick[@]}" -- test_engine test_kernels &&
      GTEST_FILTER=$without_threads run_tests tsan -R '^(engine|kernels)\.[A-Z]' ;;
  esac
}

status=0
reports=()
minutes=()
not_run=()
for part in "${parts[@]}"; do
  echo "== $part"
  started=$SECONDS
  report=${folder[$part]}/tests.xml
  rm -f "$report" "${folder[$part]}/seconds"
  reports+=("$part=$report")
  # In a shell of its own, where a failing step does not end this one.
  (run_part "$part") || status=1
  [ -s "$report" ] || not_run+=("$part")
  seconds=$((SECONDS - started))
  taken=$(paste -sd, "${folder[$part]}/seconds" 2>/dev/null | sed 's/,/, /g') || true
  minutes+=("$part: $((seconds / 60)).$((seconds % 60 / 6)) minutes${taken:+; processors: $taken}")
done

echo
cache=build/release/CMakeCache.txt
if grep -qs '^CMAKE_CUDA_COMPILER:[^=]*=.*/' "$cache"; then
  echo "CUDA: found ($(sed -n 's/^CMAKE_CUDA_COMPILER:[^=]*=//p' "$cache"))"
else
  echo "CUDA: no nvcc was found; the CUDA parts were left out"
fi
for part in ${not_run[@]+"${not_run[@]}"}; do
  echo "$part: FAILED: it was not built, or none of its tests was run; see above"
  status=1
done
printf '%s\n' "${minutes[@]}"
tools/summarize_tests.py "${reports[@]}" || status=1
exit "$status"
