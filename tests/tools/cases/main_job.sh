write_small_tensor small.tns
run blco-ingest small.tns -o small.blco --mode-names who,what,when 2>&1 | hide_sizes |
  sed -E 's/ s: .* took longest/ s: STAGES/'
run blco-info small.blco | grep -vE 'file|index|value|both'
run blco-cpd small.blco --rank 2 --sweeps 3 --tolerance 0 -o model.h5 --threads 2 2>&1 |
  grep -v '^memory' | hide_sizes | shorten_fits
run blco-info model.h5 | shorten_fits | sed '/^components/,$d'
list_folder
