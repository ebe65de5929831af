# Asked for a GPU that is not there, the commands say so; they do not fall back.
write_small_tensor small.tns
blco-ingest small.tns -o small.blco >/dev/null 2>&1
blco-cpd small.blco --rank 2 --devices cuda -o model.h5 >message 2>&1
code=$?
if [ "$code" -eq 0 ]; then
  echo 'this machine has a GPU'
  exit 77
fi
report() {
  case $1 in 6 | 7) echo 'exit 6 or 7' ;; *) echo "exit $1" ;; esac
  grep -qiE 'cuda|gpu' message && echo 'the message names it'
}
report "$code"
blco-cpd small.blco --rank 2 --devices cpu,cuda:9 -o model.h5 >message 2>&1
report $?
grep -o 'there is no cuda:9\|leave cuda:9 out of --devices' message
blco-ingest small.tns -o sorted.blco --devices cuda --quiet >message 2>&1
report $?
rm message
list_folder
