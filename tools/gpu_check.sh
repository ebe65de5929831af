#!/usr/bin/env bash
# Proves blco on a machine with a GPU and writes what it saw to tests/gpu/RESULTS.md.
#
#   tools/gpu_check.sh                 builds here, then checks
#   tools/gpu_check.sh --pack FOLDER   builds here and gathers programs and libraries in FOLDER, to be carried elsewhere
#   tools/gpu_check.sh --run FOLDER    checks with the programs of FOLDER: needs a driver, no compiler, no packages
#
# It ends within eight minutes.
#
#   --full                  compute-sanitizer and the whole tensors too; within ten minutes
#   --architectures LIST    what the device's code is compiled for, as CMake lists it (90-real;80-virtual)
#   --results FILE          what to write (tests/gpu/RESULTS.md)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

usage() {
  sed -n '2,12s/^# \{0,1\}//p' "$0"
  exit "$1"
}

mode=all
folder=build/gpu_check
full=
architectures='90-real;80-virtual'
results=tests/gpu/RESULTS.md
while [ $# -gt 0 ]; do
  case "$1" in
    --pack | --run | --architectures | --results) [ $# -ge 2 ] || usage 2 >&2 ;;&
    --pack | --run)
      mode=${1#--}
      folder=$2
      shift
      ;;
    --architectures)
      architectures=$2
      shift
      ;;
    --results)
      results=$2
      shift
      ;;
    --full) full=1 ;;
    -h | --help) usage 0 ;;
    *) usage 2 >&2 ;;
  esac
  shift
done

if [ "$mode" != run ]; then
  tools/gpu_pack.sh "$folder" "$architectures"
  [ "$mode" = all ] || exit 0
fi
exec tools/gpu_measure.sh "$folder" "$results" ${full:+--full}
