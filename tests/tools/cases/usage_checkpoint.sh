# Options of checkpoints and limits that do not go together, or with the tensor.
write_small_tensor t.tns
blco-ingest t.tns -o t.blco >/dev/null 2>&1
blco-cpd t.blco --rank 2 --sweeps 3 --tolerance 0 --devices cpu --quiet -o m.h5
fit() { run blco-cpd t.blco --devices cpu -o out.h5 "$@"; }
fit --resume m.h5 --init m.h5
fit --resume m.h5 --rank 3
fit --resume m.h5 --sweeps 2
fit --resume m.h5 --seed 5
fit --resume m.h5 --precision f32
blco-cpd t.blco --rank 2 --sweeps 3 --precision mixed --devices cpu --quiet -o mixed.h5
fit --resume mixed.h5 --precision f64
blco-cpd t.blco --resume mixed.h5 --precision mixed --sweeps 4 --devices cpu --quiet -o mixed.h5
fit --resume none.h5
fit --resume t.blco
fit --rank 2 --every 2
fit --rank 2 --checkpoint c.h5 --every 0
fit --rank 2 --checkpoint t.blco
fit --rank 2 --checkpoint nowhere/c.h5
fit --rank 2 --time-limit 0
fit --rank 2 --time-limit 5x
sed 's/4$/5/' t.tns >other.tns
blco-ingest other.tns -o other.blco >/dev/null 2>&1
run blco-cpd other.blco --devices cpu -o out.h5 --resume m.h5
list_folder
