# Programs that do not share their work, where a launcher has started several: one message, and no file is touched.
write_small_tensor t.tns
blco-ingest t.tns -o t.blco >/dev/null 2>&1
blco-cpd t.blco --rank 1 -o m.h5 >/dev/null 2>&1
export OMPI_COMM_WORLD_SIZE=3 OMPI_COMM_WORLD_RANK=0
run blco-ingest t.tns -o new
run blco-gen --shape 9x9 --nnz 9 -o new
run blco-export t.blco -o new
run blco-predict m.h5 t.blco -o new
run blco-info t.blco --report new
run blco-ingest absent.tns -o new --json
# Other processes than the first say nothing.
OMPI_COMM_WORLD_RANK=2 run blco-ingest t.tns -o new
# That of MPICH; and one process alone.
unset OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK
PMI_SIZE=2 PMI_RANK=0 run blco-ingest t.tns -o new
PMI_SIZE=1 PMI_RANK=0 blco-ingest t.tns -o new >/dev/null 2>&1 && echo 'ingested'
list_folder
