#!/usr/bin/env bash
# Proves blco on a machine with a GPU and writes what it saw to tests/gpu/RESULTS.md.
#
#   tools/gpu_check.sh                 builds here, then checks
#   tools/gpu_check.sh --pack FOLDER   builds here and gathers programs and libraries in FOLDER, to be carried elsewhere
#   tools/gpu_check.sh --run FOLDER    checks with the programs of FOLDER: needs a driver, no compiler, no packages
#
# With --full, compute-sanitizer and larger tensors too. Ends within ten minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  sed -n '2,8s/^# \{0,1\}//p' "$0"
  exit "$1"
}

programs=(test_gpu blco-gen blco-bench)

build() {
  command -v nvcc >/dev/null || [ -n "${CUDACXX-}" ] || {
    echo "gpu_check.sh: no nvcc here; build with --pack where there is one, and run with --run" >&2
    exit 7
  }
  tools/install_dependencies.sh --tests
  cmake --preset cuda -DBLCO_TESTS=ON >&2
  cmake --build build/cuda -j"$(nproc)" --target "${programs[@]}" >&2
}

# The programs, and all shared libraries that they load but those of the C library and the driver. cuBLAS, of some
# hundred MB, is found where they run.
pack() {
  local folder=$1
  mkdir -p "$folder/lib"
  for program in "${programs[@]}"; do
    strip -o "$folder/$program" "build/cuda/bin/$program"
    if ldd "build/cuda/bin/$program" | grep -q libcublas; then
      echo "gpu_check.sh: $program links cuBLAS, and would not start where that is missing" >&2
      exit 1
    fi
    ldd "build/cuda/bin/$program" | awk '$3 ~ /^\// { print $3 }' |
      grep -Ev '/(libc|libm|libdl|librt|libpthread|ld-linux[^/]*|libcuda)\.so' | while read -r library; do
        cp -Lu "$library" "$folder/lib/"
      done
  done
  git rev-parse --short HEAD >"$folder/commit"
  [ -z "$(git status --porcelain)" ] || echo "$(cat "$folder/commit") and changes" >"$folder/commit"
  du -sh "$folder" | awk '{ print "gpu_check.sh: " $1 " in " $2 }' >&2
}

mode=all
folder=build/gpu_check
full=
while [ $# -gt 0 ]; do
  case "$1" in
    --pack | --run)
      mode=${1#--}
      [ $# -ge 2 ] || usage 2 >&2
      folder=$2
      shift
      ;;
    --full) full=1 ;;
    -h | --help) usage 0 ;;
    *) usage 2 >&2 ;;
  esac
  shift
done

if [ "$mode" != run ]; then
  build
  pack "$folder"
  [ "$mode" = all ] || exit 0
fi

folder=$(cd "$folder" && pwd)
export LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
for library in "${VIRTUAL_ENV-}"/lib/python3*/site-packages/nvidia/*/lib/libcublas.so.*; do
  if [ -e "$library" ]; then LD_LIBRARY_PATH+=:$(dirname "$library"); fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
began=$SECONDS

# A device has its own order of threads and streams: one of each that the emulator tries is enough.
tests=0
timeout 300 "$folder/test_gpu" --gtest_brief=1 --gtest_filter='*:-*/reverse*:*/shuffled*:*/lazy*' >"$work/tests.log" 2>&1 || tests=$?
tail -n 25 "$work/tests.log"
[ "$tests" -ne 77 ] || exit 6

gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -1)
sanitizer() {
  local tool=$1
  if ! command -v compute-sanitizer >/dev/null; then
    echo "not run: no compute-sanitizer here"
  elif timeout 120 compute-sanitizer --tool "$tool" --error-exitcode 9 "$folder/test_gpu" --gtest_brief=1 \
    --gtest_filter='*EveryRankThatHasAKernelOfItsOwn/forward*:*AChangeOfKey/forward*:*UpdatesRows*/eager' \
    >"$work/$tool.log" 2>&1; then
    echo "clean"
  else
    echo "FAILED: $(tail -n 1 "$work/$tool.log")"
  fi
}
memcheck="not run: give --full"
racecheck=$memcheck
if [ -n "$full" ]; then
  memcheck=$(sanitizer memcheck)
  racecheck=$(sanitizer racecheck)
fi

# Tensors with the shapes of NELL-2, Enron and DARPA, and a part of their nonzeros unless --full is given.
bench() {
  local name=$1 shape=$2 nnz=$3
  [ -n "$full" ] || nnz=$((nnz / 4))
  "$folder/blco-gen" --shape "$shape" --nnz "$nnz" --skew 2 --counts -o "$work/$name.blco" >/dev/null 2>&1
  printf '\n### %s: %s, %s entries drawn, rank 32, f64\n\n```\n' "$name" "$shape" "$nnz"
  timeout 100 "$folder/blco-bench" "$work/$name.blco" --rank 32 --device cuda --resident-share 0.25
  printf '```\n'
  rm "$work/$name.blco"
}
figures=0
{
  bench NELL-2 12092x9184x28818 77000000
  bench Enron 6066x5699x244268x1176 54000000
  bench DARPA 22476x22476x23776223 28000000
} | tee "$work/figures.md" || figures=$?

{
  cat <<EOF
# What GPUs have seen

Written by \`tools/gpu_check.sh${full:+ --full}\`.

| | |
| --- | --- |
| date | $(date -u +%F) |
| GPU, driver | $gpu |
| commit | $(cat "$folder/commit") |
| tests | $(grep -E '^\[  (PASSED|FAILED)  \]' "$work/tests.log" | tr '\n' ' ')(exit $tests) |
| compute-sanitizer memcheck | $memcheck |
| compute-sanitizer racecheck | $racecheck |

Chunks in device memory with each resolution, then with a quarter of them there and the rest crossing the link.
EOF
  cat "$work/figures.md"
} >tests/gpu/RESULTS.md
echo "gpu_check.sh: wrote tests/gpu/RESULTS.md after $((SECONDS - began)) s" >&2
[ "$tests" -eq 0 ] && [ "$figures" -eq 0 ]
