# A tensor of rank 1, a (x) b (x) c: with more components their columns are linearly dependent, and the fit says so.
for i in 1 2 3 4; do for j in 1 2 3; do for k in 1 2; do echo "$i $j $k $((i * (j + 1) * (2 * k - 1)))"; done; done; done >product.tns
blco-ingest product.tns -o product.blco >/dev/null 2>&1
fit() { blco-cpd product.blco --sweeps 3 --tolerance 0 --threads 1 -o model.h5 "$@" | grep -E '^(note|model)'; }
fit --rank 4
fit --rank 1
