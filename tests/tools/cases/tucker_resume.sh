# Checkpoints of a Tucker fit: a resumed one has the bits of one that never stopped.
blco-gen --shape 60x50x40 --nnz 4000 --rank 2 --seed 3 -o given.blco --quiet
run blco-tucker given.blco --ranks 3,2,2 --sweeps 4 --tolerance 0 --threads 1 --quiet -o whole.h5
run blco-tucker given.blco --ranks 3,2,2 --sweeps 2 --tolerance 0 --threads 1 --quiet --checkpoint point.h5 -o half.h5
run blco-info point.h5 --components 1 --top 0
run blco-info half.h5 --components 0
run blco-tucker given.blco --resume point.h5 --sweeps 4 --tolerance 0 --threads 1 --quiet -o resumed.h5
run cmp whole.h5 resumed.h5
run blco-tucker given.blco --ranks 3,2,2 --sweeps 1 --threads 1 --quiet --checkpoint point.h5 -o half.h5
run blco-tucker given.blco --resume point.h5 --ranks 3,2,3 -o none.h5
run blco-tucker given.blco --resume point.h5 --seed 2 -o none.h5
run blco-tucker given.blco --ranks 2 --every 2 -o none.h5
run blco-tucker given.blco --ranks 2 --checkpoint given.blco -o none.h5
run blco-tucker given.blco --resume given.blco -o none.h5
ls
