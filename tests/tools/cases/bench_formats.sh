# Formats of others beside ours: a table in order of speed, JSON, and formats that are not there; products of Tucker models.
blco-gen --shape 60x50x40 --nnz 6000 --counts -o tensor.blco >/dev/null 2>&1
hide_numbers() { sed -E 's/ +[0-9]+\.[0-9]+/ N/g; s/ +N( +N)*/ N/g'; }
run blco-bench tensor.blco --rank 8 --devices cpu --threads 2 --repeats 2 --format ours,csf-all,coo-single 2>&1 |
  hide_numbers | sed -E 's/^(ours|csf-all|coo-single) +N.*/FORMAT N/'
blco-bench tensor.blco --rank 8 --devices cpu --threads 2 --repeats 1 --format all --json 2>/dev/null | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(sorted(report))
print(sorted(report["formats"][0]))
print(sorted(report["formats"][0]["passes"][0]))
measured = [f for f in report["formats"] if "refusal" not in f]
print(*(f["format"] for f in report["formats"]))
assert all(f["right"] and len(f["passes"]) == 3 for f in measured)
assert len(measured) >= len(report["formats"]) - 1'
run blco-bench tensor.blco --rank 8 --devices cpu --format ours,csf-some
run blco-bench --roofline --devices cpu --threads 2 | hide_numbers | sed -E 's/^(L1|L2|L3|memory|f64|f32) .*/\1 N/; /^L3 /d; s/^roofline .*,/roofline CPU,/'
blco-bench tensor.blco --rank 8 --devices cpu --threads 2 --repeats 1 --roofline --json |
  python3 -c '
import json, sys
report = json.load(sys.stdin)
print(sorted(report["roofline"]), [f["format"] for f in report["formats"]])
assert all(level["bytes_per_second"] > 0 for level in report["roofline"]["levels"])'
run blco-bench tensor.blco --rank 3 --threads 2 --repeats 1 --product ttm | hide_numbers |
  sed -E 's/^(ours|ours-fibers|csf-element|csf-fiber) +N.*/FORMAT N/'
blco-bench tensor.blco --rank 3 --threads 2 --repeats 1 --product ttmc --roofline --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(report["product"], [f["format"] for f in report["formats"]], sorted(report["roofline"]["points"][0]))
assert all(f["right"] for f in report["formats"]) and len(report["roofline"]["points"]) == 6
assert all(p["limit_share"] > 0 for p in report["roofline"]["points"])'
run blco-bench tensor.blco --rank 3 --product ttmc --repeats 1 --precision f32
run blco-bench tensor.blco --rank 8 --devices cpu --format ours,,csf-all
run blco-bench tensor.blco --rank 8 --devices cpu --format ours --disk
run blco-bench tensor.blco --format ours
run blco-bench tensor.blco --rank 8 --devices cpu --precision mixed --format ours
blco-gen --shape 5000 --nnz 60 -o vector.blco >/dev/null 2>&1
run blco-bench vector.blco --rank 2 --devices cpu --threads 1 --repeats 1 --format csf-all 2>&1 | hide_numbers
list_folder
