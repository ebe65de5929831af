#!/usr/bin/env bash
# Proves blco on a machine with a GPU and writes what it saw to tests/gpu/RESULTS.md.
#
#   tools/gpu_check.sh                 builds here, then checks
#   tools/gpu_check.sh --pack FILE     builds here and packs the programs into FILE, to be carried elsewhere; its name
#                                      ends in .tar.gz, or .tar.zst, which needs zstd there
#   tools/gpu_check.sh --run PACK      checks with the programs of PACK, such a file or the folder that it was unpacked
#                                      to: needs a driver, no compiler, no packages
#
# It ends within eight minutes: each step has a limit of its own. RESULTS.md is written anew after every step.
#
#   --full                  sizes of chunks and compute-sanitizer too; within ten minutes
#   --architectures LIST    what the device's code is compiled for, as CMake lists it: by default what the GPU here is,
#                           and for a pack 80, 90, 100 and 120, as far as nvcc knows them; on another device the driver
#                           compiles it when a program starts, for which steps have too little time
#   --built FOLDER          with --pack: packs what is in this build folder, and compiles nothing
#   --results PATH          what to write (tests/gpu/RESULTS.md); into a folder the logs of all steps go too
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

usage() {
  sed -n '2,21s/^# \{0,1\}//p' "$0"
  exit "$1"
}

mode=all
pack=$root/build/gpu_check
built=
full=
architectures=
results=$root/tests/gpu/RESULTS.md
while [ $# -gt 0 ]; do
  case "$1" in
    --pack | --run | --built | --architectures | --results) [ $# -ge 2 ] || usage 2 >&2 ;;&
    --pack | --run)
      mode=${1#--}
      pack=$(realpath -m "$2")
      shift
      ;;
    --built)
      built=$(realpath -m "$2")
      shift
      ;;
    --architectures)
      architectures=$2
      shift
      ;;
    --results)
      results=$(realpath -m "$2")
      [[ $2 != */ ]] || mkdir -p "$results"
      shift
      ;;
    --full) full=1 ;;
    -h | --help) usage 0 ;;
    *) usage 2 >&2 ;;
  esac
  shift
done
[ -z "$built" ] || [ "$mode" = pack ] || usage 2 >&2

if [ "$mode" != run ]; then
  if [ "$mode" = all ] && nvidia-smi -L >/dev/null 2>&1; then architectures=${architectures:-native}; fi
  "$root/tools/gpu_pack.sh" "$pack" "$architectures" "$built"
  [ "$mode" = all ] || exit 0
fi
exec "$root/tools/gpu_measure.sh" "$pack" "$results" ${full:+--full}
