# Several starts: a line for each, how alike their models are, and the best model, which is that of its seed alone.
blco-gen --shape 30x25x20 --nnz 6000 --rank 3 --noise 0.1 --seed 3 -o t.blco >/dev/null 2>&1
short() { sed -E 's/(match|lowest|mean) ([0-9]\.[0-9]{2})[0-9]*/\1 \2/g' | shorten_fits | grep -vE '^(device|memory)'; }
fit() { blco-cpd t.blco --rank 3 --threads 1 --device cpu --sweeps 4 --tolerance 0 "$@"; }
fit --seed 4 --starts 4 -o best.h5 | short | hide_sizes
best=$(fit --seed 4 --starts 4 -o again.h5 | sed -nE 's/^starts .*seed ([0-9]+);.*/\1/p')
fit --seed "$best" -o single.h5 >/dev/null
cmp best.h5 single.h5 && echo "the same bytes"
fit --starts 2 -o one.h5 --time-limit 0.000001 >/dev/null
echo "exit $?"
fit --starts 100000 -o long.h5 --time-limit 1 >log
echo "exit $?"
[ "$(grep -c ^start log)" -lt 100000 ] && echo "the limit is for all starts"
fit --starts 3 --dry-run | grep -c ^plan
list_folder
