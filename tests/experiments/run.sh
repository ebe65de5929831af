#!/usr/bin/env bash
# The experiments of the papers on sparse tensor formats: every format on real and generated tensors, per mode and over
# all modes; storage, construction, in memory against streamed; a roofline. Writes JSON files, tables (results.md) and
# plots (SVG) into OUT. coo-atomic and coo-line take most of the time. --quick takes a minute, with small tensors and few
# repeats, and its figures say nothing. Build first: cmake --preset release && cmake --build --preset release
#
# usage: run.sh OUT [--quick] [--formats LIST] [--ranks LIST] [--repeats K] [--devices cpu|cuda] [--threads N]
#
# BLCO_BIN: folder of the programs, build/release/bin by default. BLCO_DATA_DIR: folder of real tensors (*.tns.gz),
# ../shared/data by default; without it only generated tensors are measured.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
usage() { sed -n 's/^# usage: /usage: /p' "${BASH_SOURCE[0]}" >&2; exit 2; }
[ $# -gt 0 ] && [[ $1 != -* ]] || usage
out=$1
shift
quick=0
formats=all
ranks=16,32
repeats=
options=()
while [ $# -gt 0 ]; do
  case $1 in
    --quick) quick=1; shift ;;
    --formats) [ $# -gt 1 ] || usage; formats=$2; shift 2 ;;
    --repeats) [ $# -gt 1 ] || usage; repeats=$2; shift 2 ;;
    --ranks) [ $# -gt 1 ] || usage; ranks=$2; shift 2 ;;
    --devices | --threads) [ $# -gt 1 ] || usage; options+=("$1" "$2"); shift 2 ;;
    *) usage ;;
  esac
done
bin=${BLCO_BIN:-$root/build/release/bin}
data=${BLCO_DATA_DIR:-$root/../shared/data}
[ -x "$bin/blco-bench" ] || { echo "run.sh: no programs in $bin; build first, or set BLCO_BIN" >&2; exit 2; }
mkdir -p "$out/tensors"

# NAME: the arguments of blco-gen. In A rows repeat; H is hypersparse: few rows do.
declare -A generated=([generated-A]="--shape 12000x9000x29000 --nnz 5000000 --skew 3"
  [generated-H]="--shape 2000000x1000000x3000000 --nnz 5000000")
usual_repeats=25
if [ "$quick" = 1 ]; then
  generated=([small-A]="--shape 120x90x290 --nnz 50000 --skew 3" [small-H]="--shape 20000x10000x30000 --nnz 50000")
  usual_repeats=2
fi
for name in "${!generated[@]}"; do
  # shellcheck disable=SC2086  # the arguments are words
  [ -e "$out/tensors/$name.blco" ] || "$bin/blco-gen" ${generated[$name]} --seed 1 -o "$out/tensors/$name.blco"
done
if [ "$quick" = 0 ] && [ -d "$data" ]; then
  for file in "$data"/*.tns.gz; do
    name=$(basename "$file" .tns.gz)
    [ -e "$out/tensors/$name.blco" ] || "$bin/blco-ingest" "$file" -o "$out/tensors/$name.blco" --quiet
  done
elif [ "$quick" = 0 ]; then
  echo "run.sh: no folder $data; only generated tensors are measured" >&2
fi

for tensor in "$out"/tensors/*.blco; do
  name=$(basename "$tensor" .blco)
  # A folder may hold the tensors of the other kind of run.
  if [[ $name == small-* ]]; then small=1; else small=0; fi
  [ "$small" = "$quick" ] || continue
  for rank in ${ranks//,/ }; do
    echo "run.sh: $name, rank $rank" >&2
    "$bin/blco-bench" "$tensor" --rank "$rank" --format "$formats" --repeats "${repeats:-$usual_repeats}" --roofline \
      --json ${options[@]+"${options[@]}"} >"$out/$name-rank$rank.json.part"
    mv "$out/$name-rank$rank.json.part" "$out/$name-rank$rank.json"
  done
done
python3 "$root/tests/experiments/results.py" "$out"
echo "run.sh: wrote $out/results.md" >&2
