write_small_tensor small.tns
blco-ingest small.tns -o small.blco >/dev/null 2>&1
run blco-cpd
run blco-cpd small.blco --rank 2
run blco-cpd small.blco -o model.h5
run blco-cpd --rank 2 -o model.h5
run blco-cpd small.blco small.blco --rank 2 -o model.h5
for rank in '' 0 -1 x 1.5 99999999999 99999999999999999999; do run blco-cpd small.blco -o model.h5 --rank="$rank"; done
run blco-cpd small.blco --rank 2 -o model.h5 --iterations 0
for tolerance in '' nan -1 inf x; do run blco-cpd small.blco --rank 2 -o model.h5 --tolerance="$tolerance"; done
run blco-cpd small.blco --rank 2 -o model.h5 --seed -1
run blco-cpd small.blco --rank 2 -o model.h5 --device gpu
run blco-cpd small.blco --rank 2 -o model.h5 --precision f16
run blco-cpd small.blco --rank 2 -o model.h5 --host-memory 1Q
run blco-cpd small.blco --rank 2 -o model.h5 --device-memory lots
run blco-cpd small.blco --rank 2 -o model.h5 --init no-such-model.h5
run blco-cpd small.blco --rank 2 -o model.h5 --init small.blco
list_folder
