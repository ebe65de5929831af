# Ids that are far apart become neighbours, and show their original numbers; a fit without that is told of it.
printf '98000001 7 1\n5 7 2\n5000 3 3\n5000 7 4\n' > ids.tns
run blco-ingest ids.tns -o wide.blco --mode-names user,item --quiet
run blco-cpd wide.blco --rank 16 --memory 1GiB --threads 2 -o m.h5
run blco-ingest ids.tns -o ids.blco --mode-names user,item --compact --memory 64MiB 2>/dev/null
run blco-export ids.blco -o - --format csv
run blco-cpd ids.blco --rank 1 --sweeps 2 --threads 1 --quiet -o m.h5
run blco-info m.h5
printf 'user,item,n\n5000,3,3\n98000001,3,9\n' > asked.csv
run blco-predict m.h5 asked.csv --value n -o -
run blco-ingest ids.tns -o ids.blco --compact --shape 98000001x7
