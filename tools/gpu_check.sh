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

# The programs, and all shared libraries that they load but those of the C library and the driver.
pack() {
  local folder=$1
  mkdir -p "$folder/lib"
  for program in "${programs[@]}"; do
    strip -o "$folder/$program" "build/cuda/bin/$program"
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
