# A fit that stops at sweep 7 and goes on is the fit that never stopped, to the last bit on one thread; so is one that is
# killed at once, whose checkpoint is whole.
blco-gen --shape 40x30x20 --nnz 4000 --counts -o t.blco >/dev/null 2>&1
fit() { blco-cpd t.blco --threads 1 --devices cpu --tolerance 0 "$@" | grep -E 'sweep +(7|8|12)|stopped|model' | shorten_fits | hide_sizes; }
fit --rank 5 --sweeps 12 -o whole.h5
fit --rank 5 --sweeps 7 -o seven.h5 --checkpoint checkpoint.h5
fit --sweeps 12 -o resumed.h5 --resume checkpoint.h5
cmp whole.h5 resumed.h5 && echo "the same bytes"

blco-cpd t.blco --rank 5 --threads 1 --devices cpu --tolerance 0 --sweeps 1000000 -o never.h5 --checkpoint killed.h5 >log &
while ! grep -qs '^sweep   9' log; do sleep 0.01; done
kill -9 $!
wait $! 2>/dev/null
reached=$(blco-info killed.h5 | awk '/^sweeps/ {print $2}')
[ "$reached" -ge 8 ] && echo "the checkpoint has at least eight sweeps"
fit --rank 5 --sweeps $((reached + 3)) -o never.h5 --resume killed.h5 --checkpoint killed.h5 >/dev/null
fit --rank 5 --sweeps $((reached + 3)) -o through.h5 >/dev/null
cmp never.h5 through.h5 && echo "the same bytes again"
# What the killed job left is gone too.
list_folder
