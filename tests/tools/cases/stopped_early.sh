# A signal and a time limit end a fit with the model of its last finished sweep, and before the first one with none.
blco-gen --shape 40x30x20 --nnz 4000 --counts -o t.blco >/dev/null 2>&1
for signal in INT TERM; do
  rm -f log
  interruptible blco-cpd t.blco --rank 5 --threads 1 --devices cpu --tolerance 0 --sweeps 1000000 -o $signal.h5 --checkpoint $signal.ckpt >log 2>&1 &
  while ! grep -q '^sweep   9' log 2>/dev/null; do sleep 0.01; done
  kill -$signal $!
  wait $!
  echo "exit $?"
  grep -E '^(blco-cpd|stopped)' log
  blco-info $signal.h5 | grep stopped
  sweeps=$(blco-info $signal.h5 | awk '/^sweeps/ {print $2 + 2}')
  blco-cpd t.blco --threads 1 --devices cpu --tolerance 0 --sweeps "$sweeps" --resume $signal.ckpt -o on.h5 >/dev/null
  blco-cpd t.blco --threads 1 --devices cpu --tolerance 0 --sweeps "$sweeps" --rank 5 -o through.h5 >/dev/null
  cmp on.h5 through.h5 && echo "goes on as if it had not been stopped"
done
blco-cpd t.blco --rank 5 --threads 1 --devices cpu --tolerance 0 --sweeps 1000000000 --time-limit 1s -o time.h5 | grep stopped
blco-info time.h5 | grep stopped
for method in als apr 'gcp --loss poisson' 'gcp --loss huber:1' complete; do
  run blco-cpd t.blco --rank 5 --devices cpu --method $method --time-limit 0.000000001s -o none.h5 2>&1 | grep -v '^plan\|^memory\|^stop'
done
list_folder
