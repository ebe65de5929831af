# Two sweeps, and one sweep continued from a saved model by another, end at the same fit.
write_small_tensor small.tns
blco-ingest small.tns -o small.blco >/dev/null 2>&1
fit() { blco-cpd small.blco --rank 2 --tolerance 0 --threads 1 "$@" 2>&1 | sed -n 's/^sweep.*fit \([^ ]*\) .*/\1/p' | tail -n 1; }
two=$(fit --sweeps 2 -o two.h5)
one=$(fit --sweeps 1 -o one.h5)
continued=$(fit --sweeps 1 --init one.h5 -o continued.h5)
awk -v a="$two" -v b="$continued" 'BEGIN { d = a - b; print (d < 1e-9 && d > -1e-9) ? "equal" : "differ" }'
[ "$one" != "$two" ] && echo 'and the second sweep changed the fit'
list_folder
