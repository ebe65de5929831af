# A signal ends a job that has no result yet with code 8, and nothing is left; the first one, in order.
stop() {
  signal=$1
  name=$2
  shift 2
  interruptible "$@" >/dev/null 2>log &
  while ! grep -q "^$name" log 2>/dev/null; do sleep 0.01; done
  kill -$signal $!
  wait $!
  echo "exit $?"
  cat log
  rm log
  list_folder
}
stop TERM blco-gen blco-gen --shape 1000x1000x1000 --nnz 1000000000000 -o large.tns
stop INT blco-gen blco-gen --shape 1000x1000x1000 --nnz 1000000000000 -o large.tns.gz --threads 1
mkfifo endless
exec 3<>endless
yes '1 2 3 1' | head -n 100000 >lines
(while cat lines; do :; done) >endless 2>/dev/null &
feeder=$!
stop USR1 blco-ingest blco-ingest endless -o never.blco
kill $feeder
rm endless lines
