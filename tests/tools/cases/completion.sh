# The entries alone: a fit with held-out entries, and its model.
blco-gen --shape 60x50x40 --nnz 4000 --rank 2 --seed 3 -o given.blco --quiet
blco-gen --shape 60x50x40 --nnz 500 --rank 2 --seed 3 -o held-out.blco --quiet
run blco-cpd given.blco --rank 2 --method complete --ridge 0.1 --sweeps 4 --threads 1 --memory 64MiB --validate held-out.blco -o model.h5
blco-info model.h5 | grep -A5 "^rank"
run blco-info model.h5 --verify
# Held-out entries that the fit sees.
run blco-cpd given.blco --rank 2 --method complete --sweeps 1 --threads 1 --validate given.blco -o model.h5 2>&1 | grep validate
