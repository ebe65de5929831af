blco-gen --shape 100x100x100 --nnz 5000 -o whole.blco --chunk-nnz 2000 >/dev/null 2>&1
blco-cpd whole.blco --rank 2 --sweeps 2 -o model.h5 >/dev/null 2>&1
run blco-info whole.blco --verify | hide_sizes
run blco-info model.h5 --verify
run blco-info model.h5 --verify --json
# A damaged payload is named, and nothing is printed on standard output.
size=$(stat -c %s whole.blco)
printf '\377\377\377\377' | dd of=whole.blco bs=1 seek=$((size / 2)) conv=notrunc status=none
blco-info whole.blco --verify 2>message >out
echo "exit $?, $(wc -c <out) bytes on standard output"
sed -E 's/(chunk )[0-9]+, column [a-z]+: .*/\1.../' message
# A file that was cut off before its trailer: a container is refused, a model may be that of another program.
cut_trailer() {
  size=$(od -An -tu8 -j 28 -N 8 "$1")
  head -c "$size" "$1" >"cut-$1"
  run blco-info "cut-$1" --verify
}
blco-gen --shape 100x100x100 --nnz 5000 -o whole.blco >/dev/null 2>&1
cut_trailer whole.blco
cut_trailer model.h5
blco-ingest cut-whole.blco --orders none -o again.blco --quiet && cmp again.blco whole.blco && echo 'written anew: the same container'
rm cut-* again.blco
# A model whose column has another norm than 1, and one with a fit above it.
bend() {
  cp model.h5 bent.h5
  /usr/bin/python3 -c "import h5py; f = h5py.File('bent.h5', 'r+'); $1"
  run blco-info bent.h5 --verify
}
/usr/bin/python3 -c 'import h5py' || exit 77
bend "f['factors/1'][:, 1] *= 2"
bend "f['fit_history'][1] = 1.5"
bend "f['weights'][0] = float('nan')"
rm message out
list_folder
