# Several starts of a Tucker model: a line for each, how alike their spaces are, and the best model, that of its seed.
blco-gen --shape 60x50x40 --nnz 4000 --rank 2 --seed 3 -o given.blco --quiet
fit() { blco-tucker given.blco --ranks 3,2,2 --threads 1 --devices cpu --sweeps 4 --tolerance 0 "$@"; }
short() { sed -E 's/(match +[0-9]+ |lowest|mean) +([0-9]\.[0-9]{2})[0-9]*/\1 \2/g; s/( [0-9]\.[0-9])[0-9]\b/\1/g' | shorten_fits | grep -vE '^(device|memory|plan)'; }
fit --seed 4 --starts 4 -o best.h5 | short
best=$(fit --seed 4 --starts 4 -o again.h5 | sed -nE 's/^starts .*best is start.*seed ([0-9]+);.*/\1/p')
fit --seed "$best" -o single.h5 --quiet
cmp best.h5 single.h5 && echo "the same bytes"
fit --starts 3 --json -o json.h5 | grep -oE '"event":"(start|starts|result)"'
fit --starts 100000 -o long.h5 --time-limit 1 >log
echo "exit $?"
[ "$(grep -c ^start log)" -lt 100000 ] && echo "the limit is for all starts"
fit --starts 3 --dry-run | grep -c ^plan
interruptible blco-tucker given.blco --ranks 3,2,2 --devices cpu --starts 1000000 -o stopped.h5 >log 2>err &
while ! grep -qs '^start   3' log; do sleep 0.01; done
kill -INT $!
wait $!
echo "exit $?"
grep -c '^model' log
rm log err
run blco-tucker given.blco --starts 2 --init single.h5 -o none.h5
run blco-tucker given.blco --starts 2 --ranks 2 --checkpoint point.h5 -o none.h5
run blco-tucker given.blco --starts 2 --error 0.5 -o none.h5
list_folder
