# What cannot be printed is an error, not silence.
write_small_tensor small.tns
blco-ingest small.tns -o small.blco >/dev/null 2>&1
blco-info small.blco >/dev/full
echo "exit $?"
