# All of these are the same tensor of norm 5.
printf '1 1 3\n2 2 4\n' >plain.tns
printf '1 1 3\r\n2 2 4\r\n' >crlf.tns
printf '1\t1\t3 \n 2  2 \t4.0e0\t\n' >blanks.tns
printf '# a comment\n\n1 1 3\n# another\n2 2 4' >comments.tns
printf 'row column value\nunits - -\n1 1 3\n2 2 4\n' >header.tns
printf '0 0 3\n1 1 4\n' >zero_based.tns
printf '1 1 3.0\n2 2 4\n' >named.mtx
printf '#%255s ustar\n1 1 3\n2 2 4\n' '' >not_tar.tns
printf '1 1 3\n' >part1.tns
printf '2 2 4\n' >part2.tns
gzip -nk plain.tns
blco-gen --shape 2x2 --nnz 1 -o unused.tns.zst >/dev/null 2>&1 && rm unused.tns.zst

ingest() {
  blco-ingest "$@" -o out.blco 2>&1 | grep -E '^(shape|nonzeros)|exit'
  blco-info out.blco | grep '^norm'
}
ingest plain.tns
cp out.blco plain.blco
for input in plain.tns.gz crlf.tns blanks.tns comments.tns named.mtx not_tar.tns 'header.tns --skip-lines 2' \
  'zero_based.tns --index-base 0' 'part1.tns part2.tns'; do
  ingest $input
  cmp plain.blco out.blco && echo "$input: the same container"
done
echo 'with one more row and column:'
ingest plain.tns --shape 3x3
list_folder
