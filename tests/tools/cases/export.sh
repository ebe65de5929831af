write_small_tensor small.tns
blco-ingest small.tns -o small.blco --mode-names who,what,when >/dev/null 2>&1
run blco-export small.blco -o out.tns | hide_sizes
run cat out.tns
run blco-export small.blco -o - --index-base 0
blco-export small.blco -o out.tns.gz >/dev/null && zcat out.tns.gz | cmp - out.tns && echo 'gzip: the same text'
blco-export small.blco -o out.tns.zst >/dev/null && blco-ingest out.tns.zst -o again.blco --mode-names who,what,when >/dev/null 2>&1 &&
  cmp again.blco small.blco && echo 'zstd: the same container'
blco-export small.blco -o - --threads 3 | cmp - out.tns && echo 'three threads: the same text'

blco-cpd small.blco --rank 2 --sweeps 2 --tolerance 0 -o model.h5 >/dev/null 2>&1
run blco-export model.h5 -o factors | hide_sizes
run blco-export model.h5 -o factors/ --format txt | hide_sizes
wc -l factors/*.txt | sed 's/^ *//'
run head -1 factors/mode0_who.csv
cut -d , -f 1 factors/mode0_who.csv | paste -sd ' '
blco-export model.h5 -o factors --index-base 0 --quiet && cut -d , -f 1 factors/mode0_who.csv | paste -sd ' '
list_folder
