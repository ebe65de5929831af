# Machines read one object a line; nothing else is on standard output, and --quiet prints nothing at all.
keys() { python3 -c '
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    print(event.pop("event") + ":", " ".join(event))' | uniq; }
objects() {
  echo "\$ $*"
  "$@" --json | keys
}
write_small_tensor t.tns
objects blco-ingest t.tns -o t.blco
objects blco-gen --shape 20x30x40 --nnz 100 -o g.blco
objects blco-cpd t.blco --rank 2 --dry-run --devices cpu
objects blco-cpd t.blco --rank 2 --sweeps 2 --tolerance 0 --devices cpu -o m.h5
objects blco-cpd t.blco --rank 2 --sweeps 1 --devices cpu --starts 2 -o m.h5
objects blco-cpd t.blco --rank 1,2 --sweeps 1 --devices cpu 2>&1 | grep -v progress
objects blco-cpd t.blco --rank 2 --method complete --ridge 1 --validate t.blco --sweeps 2 --devices cpu --starts 2 \
  -o m.h5 2>&1 | grep -E '^(start|rank)'
objects blco-export t.blco -o out.tns
objects blco-export m.h5 -o folder
objects blco-info t.blco
objects blco-info t.blco --histogram
objects blco-info t.blco --verify
objects blco-info m.h5
objects blco-info m.h5 --verify
objects blco-predict m.h5 t.tns -o predicted.csv
rm -r out.tns folder predicted.csv

run blco-ingest t.tns -o quiet.blco --quiet
run blco-gen --shape 20x30x40 --nnz 100 -o quiet.tns --quiet
run blco-cpd t.blco --rank 2 --devices cpu --quiet -o quiet.h5
run blco-export t.blco -o quiet.tns.gz --quiet
run blco-predict m.h5 t.blco -o quiet.csv --quiet
run blco-info t.blco --verify --quiet

run blco-cpd t.blco --rank 0 --json -o wrong.h5
run blco-cpd t.blco --rank 2 --memory 1KiB --devices cpu --json -o wrong.h5 2>/dev/null |
  sed -E 's/ memory \([^)]*\)/ memory (TERMS)/; s/[0-9.]+ ?[KM]i?B/SIZE/g'
run blco-info none.blco --json
run blco-export t.blco -o - --json
list_folder
