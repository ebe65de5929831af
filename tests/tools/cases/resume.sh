# A resumed fit takes from its checkpoint what is not given, whatever its method, and is the fit that never stopped.
blco-gen --shape 20x15x10 --nnz 900 --counts -o t.blco >/dev/null 2>&1
blco-gen --shape 20x15x10 --nnz 90 --counts --seed 2 -o held-out.blco >/dev/null 2>&1
fit() { blco-cpd t.blco --threads 1 --devices cpu --tolerance 0 --quiet "$@"; }
goes_on() {
  fit --rank 3 --seed 7 --sweeps 6 -o whole.h5 "$@"
  fit --rank 3 --seed 7 --sweeps 3 -o half.h5 --checkpoint half.ckpt "$@"
  fit --sweeps 6 -o resumed.h5 --resume half.ckpt
  cmp whole.h5 resumed.h5 && echo "the same bytes: $*"
}
goes_on --ridge 0.1 --precision f32
goes_on --nonnegative 0,2 --l1 0.25 --precision mixed
goes_on --box 0.125:2:1 --simplex 0
goes_on --method apr
goes_on --method apr --inner 3 --kappa 0.5
goes_on --method gcp --loss poisson
goes_on --method gcp --loss poisson --evaluations 7
goes_on --method gcp --loss huber:0.75
goes_on --method gcp-adam --loss huber:0.75
goes_on --method gcp-adam --loss huber:0.75 --samples 40 --learning-rate 0.2
goes_on --method complete --ridge 0.3
goes_on --method complete --ridge 0.3 --cg-steps 3

# What the file does not hold is asked for.
fit --rank 3 --method complete --sweeps 3 --validate held-out.blco -o whole.h5 --checkpoint half.ckpt
run fit --sweeps 6 -o resumed.h5 --resume half.ckpt
run fit --sweeps 6 -o resumed.h5 --resume half.ckpt --validate held-out.blco
list_folder
