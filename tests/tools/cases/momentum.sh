# With momentum a sweep that leads to a worse model is told as a restart, and is no reason to stop.
blco-gen --shape 20x15x10 --nnz 900 --counts -o t.blco >/dev/null 2>&1
fit() { blco-cpd t.blco --threads 1 --devices cpu "$@"; }
run fit --rank 3 --seed 7 --sweeps 100 -o m.h5 --checkpoint m.ckpt | shorten_fits | hide_sizes
fit --rank 3 --seed 7 --sweeps 100 --json -o m.h5 | grep -c '"restarted":true'
fit --rank 3 --seed 7 --momentum off --sweeps 100 -o plain.h5 | tail -n 2 | shorten_fits

# A checkpoint goes on with it.
fit --rank 3 --seed 7 --sweeps 12 --tolerance 0 -o half.h5 --checkpoint half.ckpt --quiet
run fit --resume half.ckpt --sweeps 100 -o resumed.h5 --quiet
cmp m.h5 resumed.h5 && echo "the same bytes"
run fit --rank 3 --memory 1MiB -o refused.h5 2>&1 | hide_sizes | sed -E 's/[0-9]+KiB/SIZE/'
