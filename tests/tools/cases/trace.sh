# A trace is whole JSON with what was read, computed and passed.
blco-gen --shape 600x500x400 --nnz 100000 -o tensor.tns >/dev/null 2>&1
blco-ingest tensor.tns -o tensor.blco --shape 600x500x400 --chunk-nnz 20000 >/dev/null 2>&1
blco-cpd tensor.blco --rank 4 --sweeps 2 --tolerance 0 --devices cpu --trace trace.json -o model.h5 >/dev/null 2>&1
python3 - <<'PYTHON'
import collections, json
events = json.load(open("trace.json"))["traceEvents"]
names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
spans = collections.Counter((names[e["tid"]].split()[0], e["name"]) for e in events if e["ph"] == "X")
for (track, name), count in sorted(spans.items()):
    print(track, name, count)
assert all(e["ts"] >= 0 and e["dur"] >= 0 for e in events if e["ph"] == "X")
PYTHON
run blco-cpd tensor.blco --rank 4 --trace no/such/folder/trace.json -o other.h5
list_folder
