blco-gen --shape 20x30x10 --nnz 6000 --rank 1 --noise 0 -o rank1.tns >/dev/null 2>&1
blco-ingest rank1.tns -o rank1.blco --duplicates last >/dev/null 2>&1
blco-cpd rank1.blco --rank 1 --tolerance 1e-3 -o model.h5 2>&1 | grep -E '^stopped|exit'
blco-info model.h5 | grep '^stopped'
