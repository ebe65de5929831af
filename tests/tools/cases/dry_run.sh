# A dry run prints the plan and writes nothing, also for a GPU that is not there.
blco-gen --shape 600x500x400 --nnz 600000 --skew 2 --counts -o tensor.tns >/dev/null 2>&1
blco-ingest tensor.tns -o tensor.blco --shape 600x500x400 --chunk-nnz 20000 >/dev/null 2>&1
plan() { run blco-cpd tensor.blco --rank 8 --dry-run --memory 30MiB --threads 2 "$@" 2>&1 | hide_sizes; }
plan --devices cpu
plan --declare-gpu 64MiB
plan --declare-gpu 64MiB --device-memory 23500K | sed -E 's/[0-9]+ (on the device|packed)/SOME \1/g'
plan --declare-gpu 64MiB --device-memory 1K | sed -E 's/--device-memory [0-9]+/--device-memory N/'
run blco-cpd tensor.blco --rank 64 --dry-run --memory 30MiB --threads 2 --declare-gpu 64MiB --device-memory 23700K 2>&1 |
  grep -E '^(\$|slabs|blco-cpd)'
run blco-cpd tensor.blco --rank 8 --declare-gpu 64MiB -o model.h5
run blco-cpd tensor.blco --rank 8
list_folder
