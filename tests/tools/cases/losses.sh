# Generalised CP by L-BFGS and by Adam, and what a model file says of its loss.
printf '%s\n' '1 1 1 1' '2 1 1 2' '3 4 2 3' '1 2 2 5' '2 3 1 1' '3 3 2 4' >counts.tns
blco-ingest counts.tns -o counts.blco --quiet
one_digit() { sed -E 's/(objective [-0-9.]{4})[^ ]*(e[-+]?[0-9]+)/\1..\2/; s/  [0-9.]+ s  read.*//'; }
run blco-cpd counts.blco --rank 2 --method gcp --loss poisson --sweeps 2 --tolerance 0 --threads 1 -o poisson.h5 2>&1 |
  grep -A9 "^sweep" | one_digit
blco-info poisson.h5 | grep -E "^(method|stopped|sweeps)"
awk '{ print $1, $2, $3, 1 }' counts.tns >ones.tns
blco-ingest ones.tns -o ones.blco --quiet
blco-cpd ones.blco --rank 2 --method gcp-adam --loss bernoulli-odds --learning-rate 0.1 --samples 50 --sweeps 3 --threads 1 \
  -o odds.h5 | grep "^sweep" | sed -E 's/ objective.*//'
blco-info odds.h5 | grep -E "^(method|stopped|sweeps|options)"
