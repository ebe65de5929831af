# Asked for a GPU that is not there, the command says so; it does not fall back.
write_small_tensor small.tns
blco-ingest small.tns -o small.blco >/dev/null 2>&1
blco-cpd small.blco --rank 2 --device cuda -o model.h5 >message 2>&1
code=$?
if [ "$code" -eq 0 ]; then
  echo 'this machine has a GPU'
  exit 77
fi
case $code in 6 | 7) echo 'exit 6 or 7' ;; *) echo "exit $code" ;; esac
grep -qiE 'cuda|gpu' message && echo 'the message names it'
rm message
list_folder
