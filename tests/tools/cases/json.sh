# Machines read one object a line; nothing else is on standard output, and --quiet prints nothing at all.
write_small_tensor t.tns
blco-ingest t.tns -o t.blco >/dev/null 2>&1
keys() { python3 -c '
import json, sys
for line in sys.stdin:
    event = json.loads(line)
    print(event.pop("event") + ":", " ".join(event))'; }
blco-cpd t.blco --rank 2 --iterations 2 --tolerance 0 --device cpu --json -o m.h5 | keys | uniq
blco-cpd t.blco --rank 2 --dry-run --device cpu --json | keys
run blco-cpd t.blco --rank 2 --device cpu --quiet -o quiet.h5
run blco-cpd t.blco --rank 0 --json -o wrong.h5
run blco-cpd t.blco --rank 2 --host-memory 1KiB --device cpu --json -o wrong.h5 2>/dev/null | sed -E 's/[0-9.]+ ?[KM]i?B/SIZE/g'
list_folder
