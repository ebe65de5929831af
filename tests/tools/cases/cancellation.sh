# a (x) a (x) b + a (x) b (x) a + b (x) a (x) a has no best model of rank 2: the components grow and cancel each other.
printf '%s\n' '1 1 2 1' '1 2 1 1' '2 1 1 1' >border.tns
blco-ingest border.tns -o border.blco >/dev/null 2>&1
short() { sed -E 's/([0-9]\.[0-9])[0-9]+/\1/g'; }
fit() { blco-cpd border.blco --sweeps 3000 --tolerance 0 --threads 1 --devices cpu -o model.h5 "$@"; }
fit --rank 2 | grep ^note | short
blco-info model.h5 | grep ^note | short
fit --rank 2 --json | tail -n 1 | grep -o '"cancellation".*' | short
blco-info model.h5 --json | grep -o '"cancellation":[^}]*}' | short
fit --rank 1 | grep ^note
fit --rank 1 --json | tail -n 1 | grep -o '"cancellation".*'
blco-info model.h5 --json | grep -o '"cancellation":null'
# A ridge belongs to least squares, and logarithms of odds are not to be compared with the entries. How far gcp goes
# where there is no best model depends on rounding.
fit --rank 2 --method gcp | grep ^note | short | sed -E 's/has [0-9.]+ times/has N times/'
fit --rank 2 --method gcp --loss bernoulli-logit | grep ^note
list_folder
