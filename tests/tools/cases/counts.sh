# Counts by CP-APR: what the fit says, and a resumed fit.
blco-gen --shape 20x15x10 --nnz 900 --rank 2 --seed 3 --counts -o events.blco --quiet
run blco-cpd events.blco --rank 2 --method apr --sweeps 4 --threads 1 --memory 64MiB -o rates.h5
blco-info rates.h5 | grep -A5 "^rank"
run blco-cpd events.blco --rank 2 --method apr --sweeps 2 --threads 1 --memory 64MiB --quiet --checkpoint half.h5 -o half-model.h5
run blco-cpd events.blco --method apr --resume half.h5 --sweeps 4 --threads 1 --memory 64MiB -o resumed.h5
run cmp rates.h5 resumed.h5
run blco-info rates.h5 --verify
