# Constraints on the rows of factors: what the fit says, and what the model keeps.
write_small_tensor small.tns
blco-ingest small.tns -o small.blco --quiet
run blco-cpd small.blco --rank 2 --sweeps 5 --tolerance 0 --threads 1 --memory 16MiB --nonnegative -o parts.h5
blco-info parts.h5 | grep -A5 "^rank"
run blco-cpd small.blco --rank 2 --sweeps 5 --tolerance 0 --threads 1 --memory 16MiB --nonnegative 0 --simplex 2 -o shares.h5
blco-info shares.h5 | grep -A12 "^rank"
run blco-cpd small.blco --rank 2 --sweeps 5 --tolerance 0 --threads 1 --box -1:0.5:1 --l1 0.01 -o box.h5 --quiet
run blco-info box.h5 --verify
# A start outside the box, which is told.
blco-cpd small.blco --rank 2 --threads 1 --sweeps 1 --box 0:0.1:0 --init shares.h5 -o moved.h5 | grep '^start'
blco-cpd small.blco --rank 2 --box 0:0.1:0 --init shares.h5 --dry-run --json | grep -o '"outside_box":[^]]*]'
