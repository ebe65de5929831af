# Users who come later get rows in the model of the earlier ones; what items and days mean stays as it was.
awk 'BEGIN { for (g = 0; g < 3; g++) for (u = 0; u < 6; u++) for (i = 0; i < 4; i++) for (d = 0; d < 4; d++)
  printf "%d user %d,%d item %d,%d day %d,%d\n", g, u, g, i, g, d, (9 - 3 * g) * (u + 1) * (i + 1) * (d + 1) }' >rows
(echo user,item,day,count && grep -v 'user [45]' rows) >early.csv
(echo user,item,day,count && grep 'user [45]' rows) >late.csv
columns='--modes user,item,day --value count'
blco-ingest early.csv $columns -o early.blco --quiet
blco-cpd early.blco --rank 3 --nonnegative --seed 2 --threads 1 --sweeps 200 --tolerance 1e-12 -o early.h5 --quiet
blco-ingest late.csv $columns --labels-from early.h5 -o late.blco --quiet

run blco-cpd late.blco --init early.h5 --hold item,day --threads 1 -o late.h5 | grep '^start\|^stopped\|^model'
blco-info late.h5 | grep -A2 '^constraints'
blco-export early.h5 -o early --quiet
for method in als 'als --nonnegative' apr 'gcp --loss poisson' 'complete --ridge 0.1'; do
  blco-cpd late.blco --method $method --init early.h5 --hold item,day --threads 1 -o held.h5 --quiet
  rm -rf held && blco-export held.h5 -o held --quiet
  for file in early/*item*.npy early/*day*.npy early/*user*.npy; do
    cmp -s "$file" "held/${file#early/}" && echo "$method: ${file#early/} is the same" || echo "$method: ${file#early/} is another"
  done
done
run blco-cpd late.blco --rank 3 --hold item -o out.h5
run blco-cpd late.blco --init early.h5 --hold user,item,day -o out.h5
run blco-cpd late.blco --init early.h5 --hold user -o out.h5
run blco-cpd late.blco --init early.h5 --hold item --nonnegative item -o out.h5
run blco-cpd late.blco --init early.h5 --hold shop -o out.h5
