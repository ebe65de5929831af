# With --deterministic neither threads nor memory change a byte of the model; a GPU is refused.
blco-gen --shape 600x500x400 --nnz 200000 --skew 2 -o tensor.tns >/dev/null 2>&1
blco-ingest tensor.tns -o tensor.blco --shape 600x500x400 --chunk-nnz 20000 >/dev/null 2>&1
decompose() { blco-cpd tensor.blco --rank 5 --sweeps 3 --tolerance 0 --deterministic "$@" 2>&1; }
decompose --threads 1 -o one.h5 >/dev/null
for threads in 2 3 8; do
  decompose --threads $threads -o many.h5 >/dev/null
  cmp one.h5 many.h5 && echo "the same model from $threads threads"
  least=$(decompose --threads $threads -o none.h5 --memory 100K | sed -n 's/.*give at least --memory \([^ ,]*\).*/\1/p')
  decompose --threads $threads -o least.h5 --memory "$least" >/dev/null
  cmp one.h5 least.h5 && echo "the same model from $threads threads in the least memory"
done
run blco-cpd tensor.blco --rank 5 --deterministic --devices cuda -o cuda.h5
