write_small_tensor small.tns
blco-ingest small.tns -o small.blco >/dev/null 2>&1
blco-cpd small.blco --rank 1 --iterations 1 -o model.h5 >/dev/null 2>&1
ln -s small.tns link.tns
mkdir folder
run blco-ingest small.tns -o small.tns
run blco-ingest small.tns -o folder/../small.tns
run blco-ingest small.tns -o link.tns
run blco-cpd small.blco --rank 2 -o small.blco
run blco-cpd small.blco --rank 2 --init model.h5 -o model.h5
run blco-ingest small.tns -o folder
run blco-ingest small.tns -o /dev/null
run blco-ingest small.tns -o no/such/folder/out.blco
run blco-cpd small.blco --rank 2 -o no/such/folder/model.h5
list_folder
