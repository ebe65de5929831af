#!/usr/bin/env bash
# Tests and measures on a GPU with the programs that gpu_pack.sh packed. Every step has a limit of its own, and the
# results are written anew between steps, so that a step which fails, hangs or crashes takes nothing but itself; the exit
# code is 1 then. Without a GPU that the programs can use it is 77.
#
# usage: gpu_measure.sh PACK RESULTS [--full]     a file or a folder each
set -uo pipefail

full=${3-}
limit=$([ -n "$full" ] && echo 590 || echo 475)
work=$(mktemp -d)
watcher=
trap '[ -z "$watcher" ] || kill "$watcher"; rm -rf "$work"' EXIT
folder=$1
results=$2
logs=
failed=0
sum_of_limits=0
rank=32
gpu=${CUDA_VISIBLE_DEVICES:-0}

source "$(dirname "${BASH_SOURCE[0]}")/gpu_results.sh"

say() { echo "gpu_check.sh: $*" >&2; }

# Runs a command for so many seconds at most, and none that begins after the limit of the whole run.
limited() {
  local seconds=$1 left=$((limit - SECONDS))
  shift
  [ "$left" -gt 0 ] || return 124
  timeout -k 5 "$((seconds < left ? seconds : left))" "$@"
}

# How a command ended, with the last line of the files that it printed to.
outcome() {
  local code=$1
  shift
  if [ "$code" -eq 0 ]; then
    echo ok
  elif [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
    echo "FAILED: it took too long"
  elif [ "$code" -gt 128 ]; then
    echo "FAILED: it crashed by signal $((code - 128))"
  else
    echo "FAILED with exit code $code: $(cat "$@" | tail -n 1)"
  fi
}

problem() {
  failed=1
  echo "- $*" >>"$work/problems"
}

# Code for a GPU runs on those of its major number and of no lower a minor one; for others the driver compiles it.
check_architectures() {
  local capability name
  [ -s "$folder/architectures" ] && command -v nvidia-smi >/dev/null || return 0
  capability=$(nvidia-smi -i "${gpu%%,*}" --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -dc 0-9)
  for name in $(tr ';' ' ' <"$folder/architectures"); do
    [[ $name != *-virtual ]] || continue
    name=${name%-real}
    if [ "$name" = native ] || { [ "${name%?}" = "${capability%?}" ] && [ "$name" -le "$capability" ]; }; then return; fi
  done
  problem "the pack has no code for compute capability ${capability%?}.${capability: -1}: the driver compiles it at the first starts, which may" \
    "take minutes, and steps may run out of time"
}

# Has clock, power and the reasons of a lower clock read four times a second. Drivers before 535 call these otherwise.
watch_gpu() {
  local reasons query
  : >"$work/samples"
  command -v nvidia-smi >/dev/null || return 0
  for reasons in clocks_event_reasons clocks_throttle_reasons; do
    query=(nvidia-smi -i "${gpu%%,*}" --format=csv,noheader,nounits
           "--query-gpu=clocks.sm,power.draw,$reasons.active")
    timeout 10 "${query[@]}" >/dev/null 2>&1 || continue
    timeout "$limit" "${query[@]}" -lms 250 >"$work/samples" 2>/dev/null &
    watcher=$!
    return
  done
}

# What has been read since the step began.
samples_of_step() {
  tail -n "+$((first_sample + 1))" "$work/samples" | awk -F', ' '
    NF < 3 { next }
    !count++ || $1 < least { least = $1 }
    $1 > most { most = $1 }
    $2 > power { power = $2 }
    $3 !~ /0x0*[01]$/ && !seen[$3]++ { reasons = reasons " " $3 }
    END {
      if (!count) { print "| - | - | -"; exit }
      gsub(/0x0+/, "0x", reasons)
      printf "| %d to %d | %.0f |%s\n", least, most, power, reasons == "" ? " none" : reasons
    }'
}

# Also writes what is known so far, whatever becomes of the step.
begin_step() {
  publish
  step=$1 step_limit=$2 step_begin=$SECONDS first_sample=$(wc -l <"$work/samples")
  sum_of_limits=$((sum_of_limits + step_limit))
}

end_step() {
  echo "| $step | $step_limit | $((SECONDS - step_begin)) $(samples_of_step) | $1 |" >>"$work/steps"
  [[ $1 != FAILED* ]] || problem "$step: $1"
}

# Runs a command as a step of so many seconds at most. Its output is NAME.log, its errors NAME.err.
run_step() {
  local code
  say "$1, up to $2 s, after $SECONDS s"
  begin_step "$1" "$2"
  limited "$2" "${@:3}" >"$work/$1.log" 2>"$work/$1.err"
  code=$?
  end_step "$(outcome "$code" "$work/$1.log" "$work/$1.err")"
  return "$code"
}

# The results are why there are none.
give_up() {
  say "$1"
  printf '# What GPUs have seen\n\nNothing: %s.\n' "$1" >"$results"
  exit 1
}

# A pack in .tar.gz has another one in it, and the zstd that unpacks that.
unpack() {
  local given=$folder
  mkdir "$work/pack" "$work/inner"
  if [ -f "$folder" ]; then
    if ! tar -C "$work/pack" -xf "$folder" 2>"$work/unpack.err"; then
      give_up "$folder cannot be unpacked: $(tail -n 1 "$work/unpack.err"); where zstd is missing, take a pack in .tar.gz"
    fi
    folder=$work/pack
  fi
  [ -e "$folder/pack.tar.zst" ] || return 0
  if ! LD_LIBRARY_PATH=$folder/lib "$folder/zstd" -dqc "$folder/pack.tar.zst" 2>"$work/unpack.err" |
    tar -C "$work/inner" -xf - 2>>"$work/unpack.err"; then
    give_up "$given cannot be unpacked: $(tail -n 1 "$work/unpack.err")"
  fi
  folder=$work/inner
}

# The loader's own words for a C library that is too old name none of this.
check_glibc() {
  local needed have
  needed=$(cat "$folder/glibc" 2>/dev/null)
  have=$(ldd --version 2>/dev/null | head -n 1 | grep -oE '[0-9]+\.[0-9]+$')
  if [ -n "$needed" ] && [ -n "$have" ] && [ "$(printf '%s\n' "$needed" "$have" | sort -V | head -n 1)" != "$needed" ]; then
    give_up "the programs need glibc $needed, but this machine has $have: pack them on a system that is as old"
  fi
}

# Programs look for cuBLAS on this path first: that of the Python in use. The libraries of the pack they find by
# themselves.
find_cublas() {
  local python library
  python=$(dirname "$(command -v python3 || echo /none)")
  for library in "$python"/../lib/python3*/site-packages/nvidia/*/lib/libcublas.so.*; do
    [ ! -e "$library" ] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$library")
  done
}

# The programs of the CUDA release that the driver supports: each says why it cannot use a GPU, and ends with 77. What
# starts is taken, also if something else is wrong with it.
choose_programs() {
  local candidate code last=1 begin
  echo "no test_gpu in $folder" >"$work/probe"
  for candidate in "$folder" "$folder/cuda12"; do
    [ -x "$candidate/test_gpu" ] || continue
    begin_step probe 15
    begin=${EPOCHREALTIME/./}
    limited 15 "$candidate/test_gpu" '--gtest_filter=-*' >"$work/probe" 2>&1
    code=$?
    first_start=$(((${EPOCHREALTIME/./} - begin) / 1000))
    case $code in
      77 | 126 | 127)
        say "$(tail -n 1 "$work/probe")"
        [ "$last" -eq 77 ] || last=$code
        continue
        ;;
    esac
    bin=$candidate
    device=$(sed -n 's/^on //p' "$work/probe")
    end_step "$(outcome "$code" "$work/probe")"
    return
  done
  [ "$last" -ne 1 ] || say "$(tail -n 1 "$work/probe")"
  [ "$last" -ne 77 ] || exit 77
  exit 1
}

# What the driver says of the GPU. No model of it is known here.
describe_gpu() {
  command -v nvidia-smi >/dev/null || return 0
  run_step describe 10 nvidia-smi --format=csv,noheader \
    --query-gpu=driver_version,compute_cap,memory.total,clocks.max.sm,clocks.max.memory,pcie.link.gen.max,pcie.link.width.max
}

# A process for each suite: after an invalid access no test of a process passes. A device has its own order of threads
# and streams, so that one of each that the emulator tries is enough.
run_tests() {
  local seconds=80 suite suites left code passed=0 bad=0 skipped=0 without='-*/reverse*:*/shuffled*:*/lazy*'
  say "tests, up to $seconds s, after $SECONDS s"
  begin_step tests $seconds
  limited 10 "$bin/test_gpu" --gtest_list_tests "--gtest_filter=*$without" >"$work/list" 2>&1 ||
    problem "tests: the list: $(outcome $? "$work/list")"
  mapfile -t suites < <(grep -oE '^[A-Za-z0-9_/]+\.' "$work/list")
  for suite in ${suites[@]+"${suites[@]}"}; do
    left=$((step_begin + seconds - SECONDS))
    if [ "$left" -le 0 ]; then
      problem "tests: no time was left for ${suite%.}"
      continue
    fi
    limited $((left < 30 ? left : 30)) "$bin/test_gpu" --gtest_color=no "--gtest_filter=$suite*$without" \
      >"$work/suite" 2>&1
    code=$?
    cat "$work/suite" >>"$work/tests.log"
    passed=$((passed + $(grep -c '^\[       OK \]' "$work/suite")))
    skipped=$((skipped + $(grep -c '^\[  SKIPPED \].*ms)' "$work/suite")))
    [ "$code" -ne 0 ] || continue
    grep -oE '^\[  FAILED  \] [A-Za-z][^ ,]*' "$work/suite" | sort -u | sed 's/.*\] //' >"$work/names"
    bad=$((bad + $(wc -l <"$work/names")))
    while read -r name; do problem "tests: $name failed"; done <"$work/names"
    [ "$code" -eq 1 ] && [ -s "$work/names" ] ||
      problem "tests: $(grep '^\[ RUN' "$work/suite" | tail -n 1 | sed 's/.*\] //'): $(outcome "$code" "$work/suite")"
    grep -A 8 -E 'Failure$|^unknown file|what\(\)' "$work/suite" | head -n 40 >>"$work/failures"
  done
  tests="$passed passed, $bad failed, $skipped skipped, of ${#suites[@]} suites"
  end_step "$tests"
}

# Makes a container and writes its number of nonzeros into a file beside it.
generate() {
  local name=$1 seconds=$2 shape=$3 nnz=$4
  shift 4
  rm -f "$work/$name.blco"
  run_step "$name-make" "$seconds" "$bin/blco-gen" --shape "$shape" --nnz "$nnz" --skew 2 --counts \
    -o "$work/$name.blco" "$@" || return
  sed -n 's/.*(\([0-9,]*\) nonzeros.*/\1/p' "$work/$name-make.log" >"$work/$name.nnz"
}

# Measures a container as the step NAME-KIND and keeps the table.
bench() {
  local name=$1 kind=$2 seconds=$3
  shift 3
  [ -s "$work/$name.blco" ] || return 0
  run_step "$name-$kind" "$seconds" "$bin/blco-bench" "$work/$name.blco" --rank $rank --devices cuda "$@"
  read_speeds "$name-$kind"
  printf '\n### %s: %s\n\n```\n%s\n```\n' "$name-$kind" "$*" "$(cat "$work/$name-$kind.log")" >>"$work/details"
}

# How fast a container's file is read without the page cache, and where it lies.
describe_disk() {
  local file=$work/A.blco raw
  [ -s "$file" ] || return 0
  sum_of_limits=$((sum_of_limits + 5))
  raw=$(limited 5 dd if="$file" of=/dev/null bs=4M iflag=direct 2>&1 | sed -n 's/.*, //p' | tail -n 1)
  disk="The file of $(($(stat -c %s "$file") >> 20)) MiB has just been written, so most of it may lie in the page cache;
dd reads it past the cache from $(stat -f -c %T "$file") at ${raw:-an unknown speed}."
}

# Our kernel and variants of it in device memory, each a step of so many seconds at most.
measure_kernels() {
  local name=$1 seconds=$2 kind
  for kind in "${@:3}"; do
    case $kind in
      rank-*) rank=${kind#*-} bench "$name" "$kind" "$seconds" --conflict-resolution auto ;;
      blocks-*) bench "$name" "$kind" "$seconds" --conflict-resolution auto --blocks "${kind#*-}" ;;
      wide*) bench "$name" "$kind" "$seconds" --conflict-resolution auto --variant "$kind" ;;
      mixed | f32) bench "$name" "$kind" "$seconds" --conflict-resolution auto --precision "$kind" ;;
      *) bench "$name" "$kind" "$seconds" --conflict-resolution "$([ "$name" = A ] && echo all || echo auto)" ;;
    esac
  done
}

# Whole sweeps, with updates of rows, as the step NAME-KIND.
sweeps() {
  local name=$1 kind=$2 seconds=$3
  [ -s "$work/$name.blco" ] || return 0
  run_step "$name-$kind" "$seconds" "$bin/blco-cpd" "$work/$name.blco" --rank $rank --tolerance 0 -o "$work/$name.h5" \
    "${@:4}"
}

# What ncu prints of one launch, as far as it concerns caches, memory, issue slots and stalls. The first pass launches
# every chunk by itself, later ones 16 together.
profile() {
  local name=$1 wanted=$2 nnz chunks
  shift 2
  nnz=$(tr -d , <"$work/A.nnz")
  chunks=$(((nnz + (1 << 20) - 1) >> 20))
  run_step "$name" 20 ncu --clock-control none --kernel-name regex:mttkrp --launch-skip "$chunks" --launch-count 1 "$@" \
    "$bin/blco-bench" "$work/A.blco" --rank $rank --devices cuda --conflict-resolution auto --repeats 1
  if grep -q ERR_NVGPUCTRPERM "$work/$name.log"; then
    counters+=${counters:+$'\n\n'}"$name: not measured, the driver does not permit counters to this user."
  elif ! grep -E "$wanted" "$work/$name.log" >"$work/lines"; then
    counters+=${counters:+$'\n\n'}"$name: not measured: $(grep -E '==(ERROR|WARNING)==' "$work/$name.log" | tail -n 1)"
  else
    counters+=${counters:+$'\n\n'}"$name:"$'\n\n```\n'"$(cat "$work/lines")"$'\n```'
  fi
}

profile_kernel() {
  [ -s "$work/A.blco" ] || return 0
  if ! command -v ncu >/dev/null; then
    counters='Not measured: no ncu here.'
    return
  fi
  counters=
  local stalls=() reason
  for reason in long_scoreboard short_scoreboard wait barrier lg_throttle mio_throttle math_pipe_throttle not_selected \
    no_instruction membar; do
    stalls+=("smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio")
  done
  profile throughput \
    'mttkrp|Hit Rate|Throughput|Issue|Eligible|Occupancy|Registers|Duration|Max Bandwidth|Mem Busy' \
    --section SpeedOfLight --section MemoryWorkloadAnalysis --section SchedulerStats --section WarpStateStats \
    --section Occupancy --section LaunchStats
  profile stalls stalled --metrics "$(IFS=,; echo "${stalls[*]}")"
}

sanitize() {
  if ! command -v compute-sanitizer >/dev/null; then
    sanitized[$1]="not run: no compute-sanitizer here"
    return
  fi
  run_step "$1" 20 compute-sanitizer --tool "$1" --error-exitcode 9 "$bin/test_gpu" --gtest_brief=1 \
    "--gtest_filter=$sanitized_tests" && sanitized[$1]=clean || sanitized[$1]="FAILED, see below"
}

tests='not run yet' counters='Not measured.' disk='' first_start=unknown
declare -A sanitized=([memcheck]='not run' [racecheck]='not run' [initcheck]='not run')
sanitized_tests='*EveryRankThatHasAKernelOfItsOwn/forward*:*AChangeOfKey/forward*:*UpdatesRows*/eager'
tensors=(A words D H)
kinds=(usual blocks-2 blocks-3 wide wide-deep mixed f32 rank-16 rank-20)
: >"$work/details"
: >"$work/steps"

if [[ $results == */ ]] || [ -d "$results" ]; then
  logs=$results
  results=$results/RESULTS.md
fi
mkdir -p "$(dirname "$results")" || exit 2
unpack
check_glibc
find_cublas
check_architectures
watch_gpu
choose_programs
describe_gpu
run_tests
run_step roofline 12 "$bin/blco-bench" --roofline --devices cuda

# A has the shape of NELL-2, words that of counted words, D that of bookmarks, H modes whose factors no cache holds.
shape_of_a=12092x9184x28818
generate A 12 $shape_of_a 38500000 && measure_kernels A 8 "${kinds[@]}"
generate words 10 200x79x28600 20000000 && measure_kernels words 6 usual blocks-2 mixed
generate D 10 532924x172625x24435x1443 20000000 && measure_kernels D 8 usual blocks-2
if generate H 15 2000000x1000000x3000000 40000000; then
  measure_kernels H 8 usual blocks-2 wide mixed
  sweeps H sweeps 12 --devices cuda --sweeps 5
  sweeps H shared 20 --devices cpu,cuda:0 --sweeps 3
fi
rm -f "$work/words.blco" "$work/D.blco" "$work/H.blco" "$work/H.h5"

bench A streamed 10 --conflict-resolution auto --resident-share 0
bench A slots-8 8 --conflict-resolution auto --resident-share 0 --slots 8
describe_disk
bench A disk 12 --conflict-resolution auto --resident-share 0 --host-share 0
bench A loss 8 --conflict-resolution auto --loss poisson
generate formats 8 $shape_of_a 4000000 && bench formats all 30 --format all --repeats 10
profile_kernel
bench A again 8 --conflict-resolution auto

if [ -n "$full" ]; then
  sanitize memcheck
  sanitize racecheck
  sanitize initcheck
  for nnz in 262144 4194304; do
    generate A 12 $shape_of_a 38500000 --chunk-nnz $nnz && bench A "chunk-$nnz" 8 --conflict-resolution auto --resident-share 0
  done
fi
publish
say "wrote $results after $SECONDS s; all limits together: $sum_of_limits s"
exit "$failed"
