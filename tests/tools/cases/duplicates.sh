printf '%s\n' '1 1 3' '2 2 12' '1 1 1' '1 1 2' >twice.tns
for policy in sum first last max mean count; do
  run blco-ingest twice.tns -o "$policy.blco" --duplicates "$policy" 2>&1 | grep -E '^(\$|nonzeros)'
  # sum 6, first 3, last 2, max 3, mean 2, beside 12; count 3 beside 1.
  blco-info "$policy.blco" | grep '^norm'
done
run blco-ingest twice.tns -o error.blco --duplicates error
list_folder
