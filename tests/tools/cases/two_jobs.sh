# From its beginning to its end a fit keeps other jobs from what it is going to write; what it had claimed is free then.
blco-gen --shape 40x30x20 --nnz 4000 --counts -o t.blco >/dev/null 2>&1
fit() { blco-cpd t.blco --rank 2 --devices cpu --sweeps 2 --quiet "$@"; }
interruptible blco-cpd t.blco --rank 5 --devices cpu --tolerance 0 --sweeps 1000000000 -o model.h5 \
  --checkpoint ./fit.ckpt --every 1000000000 >log 2>/dev/null &
while ! grep -q '^sweep   1' log 2>/dev/null; do sleep 0.01; done
run fit -o model.h5
run fit -o other.h5 --checkpoint fit.ckpt
run fit -o fit.ckpt
run blco-gen --shape 4x3 --nnz 5 -o model.h5 --quiet
ln -s model.h5 link.h5
run fit -o link.h5
kill -INT $!
wait $!
echo "exit $?"
blco-info model.h5 | grep '^rank'
blco-info fit.ckpt | grep '^rank'

interruptible blco-cpd t.blco --rank 3,4 --devices cpu --tolerance 0 --sweeps 1000000000 -o 'rank-{rank}.h5' --json >log &
while ! grep -q '"sweep":1,' log 2>/dev/null; do sleep 0.01; done
run fit -o rank-4.h5
kill -INT $!
wait $!
echo "exit $?"

# The output may be the checkpoint too.
run fit -o fit.ckpt --checkpoint ./fit.ckpt
run fit -o model.h5
rm log
list_folder
