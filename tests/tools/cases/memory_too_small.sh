# A refusal names a budget that would do, and that one does.
blco-gen --shape 3000x2000x1000 --nnz 200000 -o tensor.tns >/dev/null 2>&1
asked_for() { sed -nE "s/.*give (at least )?$1 ([^ ,]*).*/\2/p"; }

message=$(blco-ingest tensor.tns -o tensor.blco --memory 100K 2>&1)
echo "ingest: exit $?"
list_folder
blco-ingest tensor.tns -o tensor.blco --memory "$(asked_for --memory <<<"$message")" >/dev/null 2>&1
echo "with what it asked for: exit $?"

message=$(blco-cpd tensor.blco --rank 16 -o model.h5 --memory 100K 2>&1)
echo "cpd: exit $?"
list_folder
blco-cpd tensor.blco --rank 16 --sweeps 1 -o model.h5 --memory "$(asked_for --memory <<<"$message")" \
  >/dev/null 2>&1
echo "with what it asked for: exit $?"

# Keys and labels are read before the rest: their refusal counts what the rest requires too, whatever it was given.
awk 'BEGIN { print "user,item"; for (i = 0; i < 20000; ++i) print "u" i % 9000 ",i" i * i % 997 }' >keys.csv
awk 'BEGIN { for (i = 1; i <= 3000; ++i) print "label " i }' >labels.map
for budget in 1 1MiB; do
  for job in 'keys.csv --modes user,item' 'tensor.tns --labels 0=labels.map' 'keys.csv --modes user,item --chunk-nnz 1000'; do
    # shellcheck disable=SC2086  # the arguments are words
    message=$(blco-ingest $job -o keys.blco --memory $budget 2>&1)
    echo "$job: exit $?"
    # shellcheck disable=SC2086
    blco-ingest $job -o keys.blco --memory "$(asked_for --memory <<<"$message")" >/dev/null 2>&1
    echo "with what it asked for: exit $?"
  done
done
