#!/usr/bin/env bash
# What a GPU shows on large tensors, which tools/gpu_check.sh has no time for: sweeps of CP-ALS over a billion nonzeros
# that lie in device memory, in host memory or on disk, beside all processors; formats of others on 38 million nonzeros;
# ingest beside that of the CPU. No GPU has run it yet. Each step has a limit, under ten minutes in all.
#
# usage: gpu_large.sh PROGRAMS OUT [NNZ]     a folder with the programs; a folder for their outputs; by default 10^9
set -uo pipefail
programs=$1
out=$2
nnz=${3:-1000000000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

# Runs a program as the step NAME for so many seconds at most, and tells how long it took.
step() {
  local name=$1 seconds=$2 begin=${EPOCHREALTIME/./} code=0
  timeout -k 5 "$seconds" "$programs/$3" "${@:4}" >"$out/$name.log" 2>&1 || code=$?
  printf '%-16s exit %d after %6.2f s\n' "$name" "$code" "$(((${EPOCHREALTIME/./} - begin) / 10000))e-2"
  return "$code"
}
sweeps() {
  step "$1" "$2" blco-cpd "$work/large.blco" --rank 32 --tolerance 0 --momentum off -o "$work/model.h5" "${@:3}"
  grep -E '^(sweep|plan|chunks|device|memory)' "$out/$1.log"
}

step make 90 blco-gen --shape 500000x300000x2000 --nnz "$nnz" --skew 2 --counts -o "$work/large.blco"
cat "$out/make.log"
sweeps on-device 40 --devices cuda --sweeps 4
sweeps from-host 40 --devices cuda --sweeps 4 --device-memory 4GiB
sweeps from-disk 60 --devices cuda --sweeps 4 --device-memory 4GiB --memory 2GiB
sweeps on-cpu 60 --devices cpu --sweeps 2
rm -f "$work/large.blco"

step make-a 30 blco-gen --shape 12092x9184x28818 --nnz 38500000 --skew 2 --counts -o "$work/a.blco"
step formats 80 blco-bench "$work/a.blco" --rank 32 --devices cuda --format all --repeats 10
cat "$out/formats.log"

step make-text 30 blco-gen --shape 12092x9184x28818 --nnz 40000000 --skew 2 --counts -o "$work/a.tns"
ls -l "$work/a.tns"
step ingest-cpu 60 blco-ingest "$work/a.tns" -o "$work/cpu.blco"
step ingest-cuda 60 blco-ingest "$work/a.tns" --devices cuda -o "$work/cuda.blco"
cmp "$work/cpu.blco" "$work/cuda.blco" && echo 'both containers have the same bytes'
