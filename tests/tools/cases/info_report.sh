# A page of HTML about a model, with and without its tensor, about a Tucker model and a tensor, and what it is not for.
blco-gen --shape 30x20x10 --nnz 900 --rank 2 --seed 3 -o given.blco --quiet
blco-gen --shape 30x20x11 --nnz 900 --rank 2 --seed 3 -o other.blco --quiet
blco-cpd given.blco --rank 2 --sweeps 3 --threads 1 --quiet -o model.h5
blco-tucker given.blco --ranks 2 --sweeps 1 --threads 1 --quiet -o tucker.h5
run blco-info model.h5 --report page.html
run blco-info model.h5 --report page.html --tensor given.blco --components 1 --top 1 --json | grep result
grep -c '"component":' page.html
run blco-info model.h5 --report none.html --tensor other.blco
run blco-info model.h5 --report none.html --tensor model.h5
run blco-info model.h5 --report model.h5
run blco-info model.h5 --report nowhere/page.html
run blco-info model.h5 --tensor given.blco
run blco-info model.h5 --report none.html --verify
run blco-info given.blco --report given.html
run blco-info tucker.h5 --report tucker.html
for page in given tucker; do grep -o '{"kind":"[a-z]*","title":"[a-z0-9.]*"' $page.html; done
echo '4000000000 1 2' >long.tns
blco-ingest long.tns --quiet -o long.blco
run blco-info long.blco --report none.html --memory 256MiB
run blco-info tucker.h5 --report none.html --tensor given.blco
run blco-info given.blco --report none.html --tensor given.blco
run blco-info given.blco --report none.html --components 3
ls
