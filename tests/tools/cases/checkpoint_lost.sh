# A checkpoint whose folder goes during the fit is told and tried again; what counts in the end is the last one.
blco-gen --shape 40x30x20 --nnz 4000 --counts -o t.blco >/dev/null 2>&1
fit() { interruptible blco-cpd t.blco --rank 5 --threads 1 --devices cpu --tolerance 0 --sweeps 1000000 --checkpoint goes/t.ckpt "$@"; }
lose_folder() {
  mkdir goes
  fit "$@" >log 2>errors &
  while ! [ -e goes/t.ckpt ]; do sleep 0.01; done
  # A temporary file may come while the folder is being removed.
  while [ -e goes ]; do rm -rf goes 2>/dev/null; done
  while ! grep -q 'is not saved.*does not exist' errors; do sleep 0.01; done
}
end_fit() {
  kill -INT $!
  wait $!
  echo "exit $?"
  grep -o 'the checkpoint of sweep.*does not exist.*' errors | sed 's/sweep [0-9]*/sweep N/' | uniq
}

lose_folder -o back.h5
mkdir goes
while ! [ -e goes/t.ckpt ]; do sleep 0.01; done
end_fit
[ "$(grep -c 'does not exist' errors)" -lt 3 ] && echo 'each reason is given once'
sed -nE 's/.*of sweep [0-9]+ is saved again; [0-9,]+ before it (was|were)/the checkpoint of sweep N is saved again; M before it were/p' errors | head -n 1
cmp <(blco-info back.h5 | grep '^fit') <(blco-info goes/t.ckpt | grep '^fit') && echo 'model and checkpoint have the same fit'
rm -r goes

lose_folder -o gone.h5 --quiet
end_fit
hide_count() { sed -E 's/last (checkpoint is|[0-9,]+ checkpoints are)/last N checkpoints are/'; }
tail -n 1 errors | hide_count
blco-info gone.h5 | grep '^stopped'

lose_folder -o json.h5 --json
end_fit >/dev/null
tail -n 2 log | hide_count | sed -E 's/"(fit|sweeps)":[0-9.]+/"\1":N/g'
grep -m 1 '"checkpoint".*does not exist' log | sed -E 's/"sweep":[0-9]+/"sweep":N/'
rm log errors
list_folder
