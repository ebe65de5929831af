options='--shape 70x80x90x1 --nnz 150000 --skew 2 --seed 5'
for kind in '' '--counts' '--rank 0 --noise 0'; do
  blco-gen $options $kind --threads 1 -o one.tns >/dev/null 2>&1
  blco-gen $options $kind --threads 2 -o two.tns >/dev/null 2>&1
  cmp one.tns two.tns && echo "[$kind] one and two threads: the same text"
  blco-gen $options $kind -o drawn.blco >/dev/null 2>&1
  blco-ingest one.tns -o read.blco --shape 70x80x90x1 >/dev/null 2>&1
  cmp drawn.blco read.blco && echo "[$kind] text and container: the same tensor"
  awk 'NF != 5 || $1 < 1 || $1 > 70 || $2 < 1 || $2 > 80 || $3 < 1 || $3 > 90 || $4 != 1 || $5 <= 0 { print "wrong: " $0 }
       $5 != int($5) { fractions = 1 }
       END { print NR " lines, " (fractions ? "fractions" : "whole numbers") }' one.tns
done
blco-gen $options --seed 6 -o other.tns >/dev/null 2>&1
blco-gen $options -o again.tns.gz >/dev/null 2>&1
cmp -s two.tns other.tns || echo 'another seed: another tensor'
blco-gen $options -o plain.tns >/dev/null 2>&1
zcat again.tns.gz | cmp - plain.tns && echo 'gzip: the same text'
run blco-gen --shape 4x5 --nnz 3 -o tiny.tns 2>&1 | hide_sizes
