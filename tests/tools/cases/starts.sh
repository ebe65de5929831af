# Several starts: a line for each, how alike their models are, and the best model, which is that of its seed alone.
blco-gen --shape 30x25x20 --nnz 6000 --rank 3 --noise 0.1 --seed 3 -o t.blco >/dev/null 2>&1
short() { sed -E 's/(match +[0-9]+ |score|lowest|mean) +([0-9]\.[0-9]{2})[0-9]*/\1 \2/g; s/( [0-9]\.[0-9])[0-9]\b/\1/g' | shorten_fits | grep -vE '^(device|memory)'; }
fit() { blco-cpd t.blco --rank 3 --threads 1 --devices cpu --sweeps 4 --tolerance 0 "$@"; }
fit --seed 4 --starts 4 -o best.h5 | short | hide_sizes
best=$(fit --seed 4 --starts 4 -o again.h5 | sed -nE 's/^starts .*best is start.*seed ([0-9]+);.*/\1/p')
fit --seed "$best" -o single.h5 >/dev/null
cmp best.h5 single.h5 && echo "the same bytes"
fit --starts 2 -o one.h5 --time-limit 0.000001 >/dev/null
echo "exit $?"
fit --starts 100000 -o long.h5 --time-limit 1 >log
echo "exit $?"
[ "$(grep -c ^start log)" -lt 100000 ] && echo "the limit is for all starts"
# Every model can be kept, and is that of its seed; the matches are those of any two models.
fit --seed 4 --starts 3 -o kept.h5 --keep-starts --quiet
cmp kept-start-2.h5 single.h5 && echo "the same bytes as the second seed's"
cmp kept-start-2.h5 kept.h5 && echo "the best one"
blco-info kept.h5 --compare kept-start-3.h5 | short | grep '^score'
rm kept*
fit --starts 3 --dry-run | grep -c ^plan

# An interrupt ends all of them, with the best model so far.
rm log
interruptible blco-cpd t.blco --rank 3 --devices cpu --starts 1000000 -o stopped.h5 >log 2>err &
while ! grep -qs '^start   3' log; do sleep 0.01; done
kill -INT $!
wait $!
echo "exit $?"
grep -c '^model' log
interruptible blco-cpd t.blco --rank 1,2,3,40 --devices cpu --sweeps 100000000 --tolerance 0 -o 'stopped-{rank}.h5' \
  --json >log 2>err &
while ! grep -qs '"sweep":9' log; do sleep 0.01; done
kill -INT $!
wait $!
echo "exit $?"
tail -n 1 log
rm log err
list_folder
