# Neither threads nor memory change a byte of the container.
blco-gen --shape 500x400x300 --nnz 300000 --counts -o tensor.tns.gz >/dev/null 2>&1
blco-ingest tensor.tns.gz -o one.blco --threads 1 --chunk-nnz 50000 >/dev/null 2>&1 || echo failed
blco-ingest tensor.tns.gz -o two.blco --threads 2 --chunk-nnz 50000 >/dev/null 2>&1 || echo failed
blco-ingest tensor.tns.gz -o small.blco --memory 256MiB --chunk-nnz 50000 >/dev/null 2>&1 || echo failed
cmp one.blco two.blco && cmp one.blco small.blco && echo 'identical'
list_folder
