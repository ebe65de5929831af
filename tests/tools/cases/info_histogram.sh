write_small_tensor small.tns
printf '2 1 2 300\n' >>small.tns
blco-ingest small.tns -o small.blco --shape 3x9x2 --mode-names who,what,when >/dev/null 2>&1
run blco-info small.blco --histogram | sed '1,/^both/d'
run blco-info small.blco --histogram --json | tail -n 1 | sed 's/.*"values"/"values"/'
run blco-info small.blco --histogram --memory 1MiB 2>&1 | sed -E 's/[0-9.]+ MiB/SIZE/g; s/[0-9]+KiB/SIZE/'
run blco-info small.blco --histogram --verify
list_folder
