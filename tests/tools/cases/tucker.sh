# A Tucker model: the fit, what is in it, another fit from it, and the other programs with it.
blco-gen --shape 60x50x40 --nnz 4000 --rank 2 --seed 3 -o given.blco --quiet
run blco-tucker given.blco --ranks 3,2,2 --sweeps 3 --threads 1 --memory 64MiB -o model.h5
run blco-info model.h5 --components 3 --top 2
run blco-info model.h5 --verify
run blco-tucker given.blco --init model.h5 --sweeps 1 --threads 1 --quiet -o more.h5
run blco-tucker given.blco --ranks 3 --method hoqri --dry-run --threads 1 --memory 64MiB
run blco-tucker given.blco --error 0.99 --ranks 3 --tolerance 0.01 --threads 1 --memory 64MiB -o found.h5
run blco-tucker given.blco --error 0.5 --ranks 2 --sweeps 2 --threads 1 --quiet -o found.h5
run blco-tucker given.blco --error 1 -o none.h5
run blco-tucker given.blco --error 0.5 --checkpoint none.ckpt -o none.h5
run blco-tucker given.blco --ranks 61,2,2 -o none.h5
run blco-tucker given.blco -o none.h5
run blco-tucker given.blco --ranks 2,x -o none.h5
run blco-tucker given.blco --ranks 2 --memory 1K --threads 1 -o none.h5
run blco-cpd given.blco --rank 2 --init model.h5 -o none.h5
run blco-export model.h5 -o tables --quiet
ls tables
run head -1 tables/mode2.csv
run blco-predict model.h5 given.blco --summary
run blco-info model.h5 --compare more.h5
run blco-info given.blco --compare model.h5
run blco-info model.h5 --compare given.blco
run blco-tucker model.h5 --ranks 2 -o none.h5
ls
