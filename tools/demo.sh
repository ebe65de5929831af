#!/usr/bin/env bash
# Builds blco and shows its main job: text to container to CP model, with less memory than the tensor takes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tools/install_dependencies.sh
# Where the tests were built, their programs do. Else the demo has a build of its own, without CUDA where there is no GPU:
# the device's code takes longer to compile than all the rest. One architecture of it compiles sooner; newer devices
# translate it when they load it. The CPU's loops are compiled for this processor alone; GCC fuses no multiply-adds, as
# in other builds. What a compiler may warn of then is not the demo's business.
build=build/release
options=()
if [ ! -f "$build/CMakeCache.txt" ]; then
  build=build/demo
  options=(-DBLCO_TESTS=OFF '-DCMAKE_CXX_FLAGS=-march=native -ffp-contract=off -w' -DCMAKE_CUDA_ARCHITECTURES=80)
  [ -e /dev/nvidiactl ] || command -v nvidia-smi >/dev/null || options+=(-DBLCO_CUDA=OFF)
fi

# What a command prints goes into the log. A terminal shows how many of Ninja's steps are done.
log=build/demo.log
mkdir -p build && : >"$log"
logged() {
  if [ -t 2 ]; then
    "$@" 2>&1 | tee -a "$log" | sed -u -n 's/^\[\([0-9]*\)\/\([0-9]*\)\].*/\1 of \2/p' |
      while read -r count; do printf '\r%s ' "$count" >&2; done
  else
    "$@" >>"$log" 2>&1
  fi
}
echo "Building blco: about three minutes on two cores, the first time (log: $PWD/$log)" >&2
if ! logged cmake --preset release -B "$build" ${options[@]+"${options[@]}"} ||
  ! logged cmake --build "$build" -j"$(nproc)" \
    --target blco-gen blco-ingest blco-info blco-cpd blco_frame_filter blco_zstd_filter; then
  printf '\n' >&2
  tail -n 20 "$log" >&2
  echo "blco could not be built; $PWD/$log has all that was said" >&2
  exit 1
fi
[ ! -t 2 ] || printf '\r\033[K' >&2

bin=$build/bin
work=build/demo/data
mkdir -p "$work"
show() {
  printf '\n$ %s\n' "$*"
  "$@"
}

# Like a log of who contacted whom on which day and hour: few busy accounts, most cells empty, values are counts.
shape=20000x15000x365x24
show "$bin/blco-gen" --shape $shape --nnz 11000000 --skew 4 --counts -o "$work/events.tns.zst"
# Chunks smaller than usual, since the budget below is small too.
show "$bin/blco-ingest" "$work/events.tns.zst" -o "$work/events.blco" --shape $shape \
  --mode-names source,target,day,hour --chunk-nnz 131072
show "$bin/blco-info" "$work/events.blco"

# Unpacked, index and value of ten million nonzeros take 160 MB; with 24 MiB, most chunks are read in every pass.
show "$bin/blco-cpd" "$work/events.blco" --rank 16 --sweeps 10 --tolerance 0 --momentum off --memory 24MiB \
  -o "$work/events-model.h5"
show "$bin/blco-info" "$work/events-model.h5"

printf '\nThe container is %s, the model is %s.\n' "$PWD/$work/events.blco" "$PWD/$work/events-model.h5"
