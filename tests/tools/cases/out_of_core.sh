# With the least memory that does, chunks are read in every sweep, and the model is the same to the last byte.
blco-gen --shape 600x500x400 --nnz 600000 --skew 2 -o tensor.tns >/dev/null 2>&1
blco-ingest tensor.tns -o tensor.blco --shape 600x500x400 --chunk-nnz 20000 >/dev/null 2>&1
decompose() { blco-cpd tensor.blco --rank 5 --sweeps 3 --tolerance 0 --threads 1 "$@" 2>&1; }
least=$(decompose -o none.h5 --memory 100K | sed -n 's/.*give at least --memory \([^ ,]*\).*/\1/p')
decompose -o ample.h5 >/dev/null
decompose -o least.h5 --memory "$least" >log
grep '^sweep' log | grep -c 'read [1-9]'
cmp ample.h5 least.h5 && echo 'the same model'
