#!/usr/bin/env bash
# Tests and measures on a GPU with the programs that gpu_pack.sh gathered. RESULTS is written anew after every few
# steps, so that a run which is cut short leaves what it has seen. A step that fails is noted there, the others still
# run, and the exit code is 1 at the end.
#
# usage: gpu_measure.sh FOLDER RESULTS [--full]
set -uo pipefail

folder=$(cd "$1" && pwd) || exit 2
results=$(realpath "$2") || exit 2
full=${3-}
limit=$([ -n "$full" ] && echo 570 || echo 470)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
rank=32

# Programs look for cuBLAS on this path first: that of the Python in use, since they know no folder of a virtual
# environment. The libraries of the pack they find by themselves.
for python in "${VIRTUAL_ENV-}/bin" "$(dirname "$(command -v python3 || echo /none)")"; do
  for library in "$python"/../lib/python3*/site-packages/nvidia/*/lib/libcublas.so.*; do
    [ ! -e "$library" ] || export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(dirname "$library")
  done
done

say() { echo "gpu_check.sh: $*" >&2; }

# Runs a command for so many seconds at most, and none that begins after the limit of the whole run.
limited() {
  local seconds=$1 left=$((limit - SECONDS))
  shift
  [ "$left" -gt 0 ] || return 124
  timeout -k 5 "$((seconds < left ? seconds : left))" "$@"
}

# What a step that ended with a code has to say; its errors are in a file.
excuse() {
  local code=$1 errors=$2
  if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then
    echo "FAILED: no time was left for it, or it took too long"
  else
    echo "FAILED with exit code $code: $(tail -n 1 "$errors")"
  fi
}

# The programs of the CUDA release that the driver supports: each says why it cannot use a GPU, and ends with 77.
choose_programs() {
  local code=1
  echo "no test_gpu in $folder" >"$work/probe"
  for bin in "$folder" "$folder/cuda12"; do
    [ -x "$bin/test_gpu" ] || continue
    "$bin/test_gpu" --gtest_filter=- >"$work/probe" 2>&1
    code=$?
    [ "$code" -ne 0 ] || return 0
    [ "$code" -ne 77 ] || say "$(tail -n 1 "$work/probe")"
  done
  [ "$code" -ne 77 ] || exit 6
  say "$(tail -n 1 "$work/probe")"
  exit 1
}

ask_gpu() {
  command -v nvidia-smi >/dev/null || { echo "unknown: no nvidia-smi here"; return; }
  limited 20 nvidia-smi "--query-gpu=$1" --format=csv,noheader 2>/dev/null | head -n 1 | grep . ||
    echo "unknown to nvidia-smi"
}

# Rows of a table: what the driver says of the GPU. No model of it is known here.
describe_gpu() {
  cat <<END
| GPU | $(ask_gpu name) |
| driver, compute capability, memory | $(ask_gpu driver_version,compute_cap,memory.total) |
| clocks of multiprocessors and memory, at most | $(ask_gpu clocks.max.sm,clocks.max.memory) |
| link: generation, lanes | $(ask_gpu pcie.link.gen.max,pcie.link.width.max) |
END
}

run_tests() {
  say "tests"
  # A device has its own order of threads and streams: one of each that the emulator tries is enough.
  limited 200 "$bin/test_gpu" --gtest_brief=1 --gtest_filter='*:-*/reverse*:*/shuffled*:*/lazy*' >"$work/tests.log" 2>&1
  local code=$?
  tail -n 25 "$work/tests.log" >&2
  tests=$(grep -E '^\[  (PASSED|FAILED)  \] [0-9]' "$work/tests.log" | paste -sd ' ')
  [ "$code" -ne 0 ] || return 0
  failed=1
  echo "tests: $(excuse "$code" "$work/tests.log")" >>"$work/problems"
  grep -E '^\[  FAILED  \] [A-Za-z]' "$work/tests.log" | sort -u | head -n 20 >>"$work/problems"
}

# Makes a container and writes its number of nonzeros into a file beside it.
generate() {
  local name=$1 shape=$2 nnz=$3
  shift 3
  say "making $name, $shape, after $SECONDS s"
  if ! limited 120 "$bin/blco-gen" --shape "$shape" --nnz "$nnz" --skew 2 --counts -o "$work/$name.blco" "$@" \
    >"$work/$name.gen" 2>"$work/$name.err"; then
    failed=1
    echo "$name could not be made: $(tail -n 1 "$work/$name.err")" >>"$work/problems"
    return 1
  fi
  sed -n 's/.*(\([0-9,]*\) nonzeros.*/\1/p' "$work/$name.gen" >"$work/$name.nnz"
}

# Measures a container and keeps the table under a label. What this program has no word for is no failure.
bench() {
  local label=$1 name=$2 code
  shift 2
  [ -s "$work/$name.blco" ] || return 0
  say "measuring $label after $SECONDS s"
  limited 100 "$bin/blco-bench" "$work/$name.blco" --rank $rank --device cuda "$@" \
    >"$work/$label.log" 2>"$work/$label.err"
  code=$?
  {
    printf '\n### %s: %s\n\n' "$label" "$*"
    if [ "$code" -eq 0 ]; then
      printf '```\n%s\n```\n' "$(cat "$work/$label.log")"
    elif grep -qE 'is not one of|unknown argument' "$work/$label.err"; then
      echo "Not measured: $(tail -n 1 "$work/$label.err")"
    else
      failed=1
      excuse "$code" "$work/$label.err"
      echo "$label: $(excuse "$code" "$work/$label.err")" >>"$work/problems"
    fi
  } >>"$work/details.md"
}

# Millions of nonzeros a second, the mean over the modes, from the table under a label; "-" where it is not there.
speed() {
  awk -v place="$2" -v resolution="$3" '
    $1 == place && ($2 == resolution || resolution == "*") && $3 == "mean" { value = $4 }
    END { print value == "" ? "-" : value }' "$work/$1.log" 2>/dev/null || echo -
}

share() { awk -v a="$1" -v b="$2" 'BEGIN { if (a + 0 > 0 && b + 0 > 0) printf "%.2f", a / b; else printf "-" }'; }

# Nonzeros a second of a label in device memory and streamed, as two cells and their ratio.
two_places() {
  local memory streamed
  memory=$(speed "$1" memory '*')
  streamed=$(speed "$1" streamed '*')
  printf '%s | %s | %s |\n' "$memory" "$streamed" "$(share "$streamed" "$memory")"
}

print_speeds() {
  local name kind values=()
  printf '| tensor | nonzeros | precision or variant | auto | register | hierarchical | streamed | streamed / auto |\n'
  printf '| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |\n'
  for name in "${tensors[@]}"; do
    for kind in "${kinds[@]}"; do
      local label=$name-$kind memory streamed
      memory=$(speed "$label" memory auto)
      streamed=$(speed "$label" streamed auto)
      [ "$kind" != f64 ] || values+=("$memory")
      printf '| %s | %s | %s | %s | %s | %s | %s | %s |\n' "$name" "$(cat "$work/$name.nnz" 2>/dev/null || echo -)" \
        "$kind" "$memory" "$(speed "$label" memory register)" "$(speed "$label" memory hierarchical)" "$streamed" \
        "$(share "$streamed" "$memory")"
    done
  done
  printf '%s\n' "${values[@]}" | awk '
    $1 + 0 <= 0 { lacks = 1 }
    { sum += log($1 + 0 > 0 ? $1 : 1); count++ }
    END { if (!lacks) printf "\nGeometric mean of the tensors in f64, auto, in memory: %.1f\n", exp(sum / count) }'
}

print_table() {
  local heading=$1 prefix=$2 one
  shift 2
  printf '| %s | in memory | streamed | ratio |\n| ---: | ---: | ---: | ---: |\n' "$heading"
  for one in "$@"; do printf '| %s | %s\n' "$one" "$(two_places "$prefix$one")"; done
}

publish() {
  {
    cat <<END
# What GPUs have seen

Written by \`tools/gpu_check.sh${full:+ $full}\` in $SECONDS s.

| | |
| --- | --- |
| date | $(date -u +%F) |
$gpu
| programs | $(cat "$folder/commit"), in ${bin#"$(dirname "$folder")"/} |
| tests | $tests |
| compute-sanitizer memcheck | $memcheck |
| compute-sanitizer racecheck | $racecheck |

Measured speeds, of f64 and then of f32, which shares below are relative to:

$(for precision in f64 f32; do sed -n 's/^device */- /p' "$work/${tensors[0]}-$precision.log" 2>/dev/null; done)

END
    if [ -s "$work/problems" ]; then printf '## Problems\n\n%s\n\n' "$(sed 's/^/- /' "$work/problems")"; fi
    cat <<END
## Speeds

Millions of nonzeros a second and mode, rank $rank: all chunks in device memory with each resolution; then all of them
streamed from pinned host memory. Variants are f64; \`blco-bench --help\` says what they are.

$(print_speeds)

## Nonzeros a launch

${tensors[0]}, f64, auto.

$(print_table 'chunk' chunk- "${chunks[@]}")

## Lanes

${tensors[0]}, f64, auto, streamed from pinned memory.

$(print_table 'lanes' lanes- "${lanes[@]}")

## From disk

${tensors[0]}, f64, auto, nothing kept in device or host memory. $disk

$(print_table 'lanes' disk- 4)

## Counters of one launch

${tensors[0]}, f64, the MTTKRP kernel by itself.

$counters

## Tables
END
    cat "$work/details.md"
  } >"$results.new" && mv "$results.new" "$results"
}

# What ncu prints of one launch, as far as it concerns caches, memory, issue slots and stalls.
profile() {
  local what=$1 wanted=$2 code
  shift 2
  limited 60 ncu --clock-control none --kernel-name regex:mttkrp --launch-skip 3 --launch-count 1 "$@" \
    "$bin/blco-bench" "$work/${tensors[0]}.blco" --rank $rank --device cuda --resolution auto --repeats 1 \
    >"$work/ncu.log" 2>&1
  code=$?
  if grep -q ERR_NVGPUCTRPERM "$work/ncu.log"; then
    echo "$what: not measured, the driver does not permit counters to this user."
  elif ! grep -E "$wanted" "$work/ncu.log" >"$work/ncu.lines"; then
    echo "$what: not measured, ncu ended with code $code: $(grep -E '==(ERROR|WARNING)==' "$work/ncu.log" | tail -n 1)"
  else
    printf '%s:\n\n```\n%s\n```\n' "$what" "$(cat "$work/ncu.lines")"
  fi
}

profile_kernel() {
  if ! command -v ncu >/dev/null; then
    echo "Not measured: no ncu here."
    return
  fi
  local stalls=() reason
  for reason in long_scoreboard short_scoreboard wait barrier lg_throttle mio_throttle math_pipe_throttle not_selected \
    no_instruction membar; do
    stalls+=("smsp__average_warps_issue_stalled_${reason}_per_issue_active.ratio")
  done
  profile 'Throughput, hit rates, issue slots, occupancy' \
    'mttkrp|Hit Rate|Throughput|Issue|Eligible|Occupancy|Registers|Duration|Max Bandwidth|Mem Busy' \
    --section SpeedOfLight --section MemoryWorkloadAnalysis --section SchedulerStats --section WarpStateStats \
    --section Occupancy --section LaunchStats
  echo
  profile 'Warps that wait per instruction issued, by reason' 'stalled' --metrics "$(IFS=,; echo "${stalls[*]}")"
}

sanitize() {
  local tool=$1
  if ! command -v compute-sanitizer >/dev/null; then
    echo "not run: no compute-sanitizer here"
  elif limited 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "$bin/test_gpu" --gtest_brief=1 \
    --gtest_filter='*EveryRankThatHasAKernelOfItsOwn/forward*:*AChangeOfKey/forward*:*UpdatesRows*/eager' \
    >"$work/$tool.log" 2>&1; then
    echo "clean"
  else
    excuse $? "$work/$tool.log"
  fi
}

# How fast the container's file is read without the page cache, and where it lies.
describe_disk() {
  local file=$work/${tensors[0]}.blco raw
  raw=$(limited 30 dd if="$file" of=/dev/null bs=4M iflag=direct 2>&1 | sed -n 's/.*, //p' | tail -n 1)
  echo "The file of $(($(stat -c %s "$file") >> 20)) MiB has just been written, so most of it may lie in the page" \
    "cache; dd reads it past the cache from $(stat -f -c %T "$file") at ${raw:-an unknown speed}."
}

tests='' counters='Not measured yet.' disk='' memcheck='not run: give --full' racecheck='not run: give --full'
tensors=(NELL-2 Enron Amazon)
# What is measured of each tensor: a precision, or another variant of the kernel in f64.
kinds=(f64 wide wide-deep mixed f32)
chunks=(262144 1048576 4194304)
lanes=(2 4 8)
declare -A shapes=([NELL-2]=12092x9184x28818 [Enron]=6066x5699x244268x1176 [Amazon]=4821207x1774269x1805187)
declare -A entries=([NELL-2]=77000000 [Enron]=54000000 [Amazon]=80000000)
: >"$work/details.md"

choose_programs
gpu=$(describe_gpu)
run_tests
publish

# Tensors with the shapes of NELL-2, Enron and Amazon reviews, and half of these nonzeros unless --full is given.
for name in "${tensors[@]}"; do
  [ -n "$full" ] || entries[$name]=$((entries[$name] / 2))
  generate "$name" "${shapes[$name]}" "${entries[$name]}" || continue
  for kind in "${kinds[@]}"; do
    case $kind in
      f64) bench "$name-f64" "$name" --precision f64 --resolution all --resident-share 0 ;;
      wide*) bench "$name-$kind" "$name" --precision f64 --variant "$kind" --resolution auto ;;
      *) bench "$name-$kind" "$name" --precision "$kind" --resolution auto --resident-share 0 ;;
    esac
  done
  [ "$name" = "${tensors[0]}" ] || rm "$work/$name.blco"
  publish
done

first=${tensors[0]}
counters=$(profile_kernel)
for count in "${lanes[@]}"; do
  bench "lanes-$count" "$first" --resolution auto --lanes "$count" --resident-share 0
done
publish
if [ -s "$work/$first.blco" ]; then disk=$(describe_disk); fi
bench disk-4 "$first" --resolution auto --lanes 4 --resident-share 0 --host-share 0
publish
for nnz in "${chunks[@]}"; do
  generate "$first" "${shapes[$first]}" "${entries[$first]}" --chunk-nnz "$nnz" || continue
  bench "chunk-$nnz" "$first" --resolution auto --resident-share 0
done

if [ -n "$full" ]; then
  memcheck=$(sanitize memcheck)
  racecheck=$(sanitize racecheck)
  [[ $memcheck$racecheck != *FAILED* ]] || failed=1
fi
publish
say "wrote $2 after $SECONDS s"
exit "$failed"
