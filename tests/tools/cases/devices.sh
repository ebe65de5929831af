# A device by its name in a list is that device, to the bit.
write_small_tensor t.tns
blco-ingest t.tns -o t.blco >/dev/null 2>&1
fit() { blco-cpd t.blco --rank 3 --sweeps 4 --tolerance 0 --threads 1 --quiet "$@"; }
fit --devices cpu -o one.h5
fit --devices cpu=2 -o listed.h5 && cmp one.h5 listed.h5 && echo same
blco-tucker t.blco --ranks 2 --threads 1 --quiet --devices cpu -o one.h5
blco-tucker t.blco --ranks 2 --threads 1 --quiet --devices cpu=3 -o listed.h5 && cmp one.h5 listed.h5 && echo same
