write_small_tensor small.tns
run blco-ingest
run blco-ingest small.tns
run blco-ingest -o out.blco
run blco-ingest small.tns -o
run blco-ingest small.tns -o ''
run blco-ingest small.tns -o out.blco --frobnicate
for size in '' 3X -3 0 M 1e3 inf 0x10 9999999TiB; do run blco-ingest small.tns -o out.blco --memory="$size"; done
for shape in '' x 1x0x3 1xx3 3,4,2 1x-2x3 99999999999999999999; do run blco-ingest small.tns -o out.blco --shape="$shape"; done
for codec in '' zstd zstd: zstd:0 zstd:20 zstd:x gzip:3; do run blco-ingest small.tns -o out.blco --compression="$codec"; done
run blco-ingest small.tns -o out.blco --index-base 2
run blco-ingest small.tns -o out.blco --duplicates most
run blco-ingest small.tns -o out.blco --threads 0
run blco-ingest small.tns -o out.blco --skip-lines -1
run blco-ingest small.tns -o out.blco --chunk-nnz 0
run blco-ingest small.tns -o out.blco --mode-names a,,b
run blco-ingest small.tns -o out.blco --mode-names a,b
run blco-ingest small.tns -o out.blco --tmp no/such/folder
run blco-ingest small.tns -o out.blco --shape 3x4
run blco-ingest small.tns -o out.blco --shape 3x4x1
list_folder
