write_small_tensor small.tns
: >empty.blco
blco-ingest small.tns -o small.blco >/dev/null 2>&1
blco-cpd small.blco --rank 1 --iterations 1 -o model.h5 >/dev/null 2>&1
run blco-ingest no-such-file.tns -o out.blco
run blco-ingest . -o out.blco
run blco-ingest small.blco -o out.blco
run blco-cpd no-such-file.blco --rank 1 -o out.h5
run blco-cpd small.tns --rank 1 -o out.h5
run blco-cpd empty.blco --rank 1 -o out.h5
run blco-cpd model.h5 --rank 1 -o out.h5
run blco-info small.tns
list_folder
