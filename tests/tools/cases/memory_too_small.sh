# A refusal names the least budget that would do, and that one does.
blco-gen --shape 3000x2000x1000 --nnz 200000 -o tensor.tns >/dev/null 2>&1
asked_for() { sed -n "s/.*give at least $1 \\([^ ,]*\\).*/\\1/p"; }

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
