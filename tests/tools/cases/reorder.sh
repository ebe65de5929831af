printf '%s\n' '3 1 1 1' '3 1 2 2' '1 2 2 -1.5' '2 3 2 0.25' '3 3 2 4' >in.tns
blco-ingest in.tns -o plain.blco --reorder none >/dev/null 2>&1
run blco-ingest in.tns -o reordered.blco --reorder frequency 2>/dev/null | hide_sizes
blco-info reordered.blco | grep reordered
blco-info plain.blco | grep reordered
blco-info reordered.blco --verify >/dev/null && echo 'verified'
run blco-export reordered.blco -o -
blco-export reordered.blco -o - | sort >reordered.txt
blco-export plain.blco -o - | sort | cmp - reordered.txt && echo 'the same nonzeros as without'

for tensor in plain reordered; do
  blco-cpd $tensor.blco --rank 2 --sweeps 3 --tolerance 0 --threads 1 -o $tensor.h5 2>/dev/null | grep -E '^sweep' |
    shorten_fits | cut -d' ' -f1-8 >$tensor.fits
  blco-export $tensor.h5 -o $tensor --format txt >/dev/null
done
cmp plain.fits reordered.fits && echo 'the same fits'
python3 -c 'import sys
a, b = ([[float(x) for x in line.split()] for line in open(f)] for f in sys.argv[1:])
assert all(abs(x - y) < 1e-10 for p, q in zip(a, b) for x, y in zip(p, q))' plain/mode0*.txt reordered/mode0*.txt &&
  echo 'the same factors'

printf '1 1 1\n1 4294967297 1\n' >long.tns
run blco-ingest long.tns -o long.blco --reorder frequency 2>&1 | grep -v reading
printf '1 1 1\n1 x 1\n' >bad.tns
run blco-ingest bad.tns -o bad.blco --reorder frequency 2>&1 | grep -v reading
rm -r plain reordered
list_folder
