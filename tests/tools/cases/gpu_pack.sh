# What the build made, packed as for a machine with a GPU, and run where there is neither that nor anything else: one
# sentence, and nothing left behind.
tools=$(dirname "$1")/../../../tools
built=$(dirname "$(dirname "$(command -v blco-gen)")")
[ -x "$built/bin/packed/test_gpu" ] || { echo 'this build has no CUDA, and so nothing to pack'; exit 77; }
mkdir tmp outer pack
export TMPDIR=$PWD/tmp

"$tools/gpu_check.sh" --pack pack.tar.gz --built "$built" 2>log || { echo "exit $?"; cat log; }
grep -oE '[0-9.]+ MiB, for glibc 2\.[0-9]+ or newer' log | sed -E 's/[0-9.]+/N/g'
[ "$(stat -c %s pack.tar.gz)" -le $((40 << 20)) ] || cat log

echo '# what is in it, and that it needs nothing else but the C library'
tar -C outer -xf pack.tar.gz
ls outer
LD_LIBRARY_PATH=outer/lib outer/zstd -dqc outer/pack.tar.zst | tar -C pack -xf -
ls pack
ls pack/lib | grep -cE 'curl|ssl|krb5|ldap|hdf5'
for program in blco-bench blco-cpd blco-gen blco-ingest test_gpu; do
  ldd "pack/$program" | awk -v lib="$PWD/pack/lib/" '$3 ~ /^\// && index($3, lib) != 1 { print $3 }'
done | grep -vE '/(libc|libm|libdl|librt|libpthread)\.so'
pack/blco-gen --shape 30x20x10 --nnz 500 -o tensor.blco >/dev/null 2>&1 && pack/blco-bench tensor.blco --rank 4 \
  --devices cpu --repeats 1 | grep -c mean

echo '# tests that the check chooses by name'
sed -n "s/^sanitized_tests='\(.*\)'/\1/p" "$tools/gpu_measure.sh" | tr : '\n' | while read -r filter; do
  pack/test_gpu --gtest_list_tests "--gtest_filter=$filter" | grep -c '^  ' | sed 's/^[1-9].*/some/'
done
for order in reverse shuffled lazy; do
  pack/test_gpu --gtest_list_tests "--gtest_filter=*/$order*" | grep -c '^  ' | sed 's/^[1-9].*/some/'
done

echo '# without a GPU'
for place in pack.tar.gz outer pack; do
  env -i TMPDIR="$TMPDIR" CUDA_VISIBLE_DEVICES=-1 "$tools/gpu_check.sh" --run $place --results none.md
  echo "exit $?, left behind: $(ls tmp)$(ls none.md 2>/dev/null)"
done
