write_small_tensor small.tns
blco-ingest small.tns -o small.blco >/dev/null 2>&1
blco-cpd small.blco --rank 1 --sweeps 1 -o model.h5 >/dev/null 2>&1
mkdir folder
run blco-export
run blco-export small.blco
run blco-export small.blco -o ''
run blco-export no-such-file.blco -o out.tns
run blco-export small.tns -o out.tns
run blco-export small.blco -o out.parquet
run blco-export small.blco -o out
run blco-export small.blco -o small.blco
run blco-export small.blco -o folder
run blco-export small.blco -o no/such/folder/out.tns
run blco-export small.blco -o out.tns --index-base 2
run blco-export small.blco -o out.tns --threads 0
run blco-export small.blco -o out.tns --format npy
run bash -c 'blco-export small.blco -o - >/dev/full'
run blco-export model.h5 -o factors --index-base 2
run blco-export model.h5 -o factors --format xml
run blco-export model.h5 -o model.npy
run blco-export model.h5 -o -
run blco-export model.h5 -o small.tns/
run blco-export model.h5 -o no/such/folder
blco-gen --shape 3000x4000x2000 --nnz 30000 -o large.blco >/dev/null 2>&1
blco-cpd large.blco --rank 4 --sweeps 1 -o large.h5 >/dev/null 2>&1
run bash -c 'ulimit -f 64; blco-export large.blco -o out.tns'
run bash -c 'ulimit -f 64; blco-export large.blco -o out.tns.gz'
run bash -c 'ulimit -f 64; blco-export large.h5 -o factors'
run bash -c 'ulimit -f 64; blco-export large.h5 -o folder --format txt'
list_folder
find . -mindepth 1 -type d
