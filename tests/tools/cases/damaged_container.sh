blco-gen --shape 100x100x100 --nnz 5000 -o whole.blco >/dev/null 2>&1
size=$(stat -c %s whole.blco)
# Cut short anywhere, a container is refused, and never read as a smaller tensor.
for part in 1 2 3; do
  head -c $((size * part / 4)) whole.blco >cut.blco
  blco-cpd cut.blco --rank 2 -o model.h5 2>message >/dev/null
  echo "cut at $part/4: exit $?, $(wc -l <message) line"
done
# So is one with a flipped bit in its payloads, which are most of the file.
for part in 1 2 3; do
  cp whole.blco flipped.blco
  at=$((size * part / 4))
  byte=$(od -An -tu1 -j $at -N 1 whole.blco)
  printf "\\x$(printf %02x $((byte ^ 64)))" | dd of=flipped.blco bs=1 seek=$at conv=notrunc status=none
  blco-cpd flipped.blco --rank 2 -o model.h5 2>message >/dev/null
  echo "flipped at $part/4: exit $?, $(wc -l <message) line"
done
rm message
list_folder
