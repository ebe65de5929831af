# A reader of standard output that ends early, as head does, costs messages and no model.
blco-gen --shape 40x30x20 --nnz 20000 --counts -o t.blco >/dev/null 2>&1
fit() {
  blco-cpd t.blco --rank 3 --sweeps 2000 --tolerance 0 --threads 1 --devices cpu "$@" 2>errors | true
  echo "exit ${PIPESTATUS[0]}"
  cat errors
  rm errors
}
fit -o m.h5
blco-info m.h5 | grep ^sweeps
fit -o m.h5 --json
blco-info m.h5 | grep ^sweeps
# Where the results are all there is, the signal ends the program as usual.
blco-export t.blco -o - 2>&1 | true
echo "exit ${PIPESTATUS[0]}"
list_folder
