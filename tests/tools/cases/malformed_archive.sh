write_small_tensor small.tns
gzip -nk small.tns
head -c 40 small.tns.gz >cut.tns.gz
run blco-ingest cut.tns.gz -o out.blco
{ head -c 20 small.tns.gz; printf '\x00\x00\x00\x00'; tail -c +25 small.tns.gz; } >damaged.tns.gz
blco-ingest damaged.tns.gz -o out.blco >message 2>&1
echo "damaged: exit $?, $(wc -l <message) line"
rm message
printf '1 1 1 1.0\n' >order3.tns
printf '1 1 1.0\n' >order2.tns
run blco-ingest order3.tns order2.tns -o out.blco
list_folder
