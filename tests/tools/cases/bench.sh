# The benchmark prints a table, and JSON on request; its numbers differ from run to run.
blco-gen --shape 600x500x400 --nnz 600000 --skew 2 --counts -o tensor.tns >/dev/null 2>&1
blco-ingest tensor.tns -o tensor.blco --shape 600x500x400 --chunk-nnz 20000 >/dev/null 2>&1
hide_numbers() { sed -E 's/ +[0-9]+\.[0-9]+/ N/g; s/  (memory|cache)$/  BOUND/'; }
run blco-bench tensor.blco --rank 8 --devices cpu --threads 2 --repeats 2 --memory 14MiB | hide_numbers
blco-bench tensor.blco --rank 8 --devices cpu --repeats 1 --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(sorted(report))
print(len(report["passes"]), sorted(report["passes"][0]))
assert all(p["seconds"] > 0 and p["nonzeros_per_second"] > 0 for p in report["passes"])'
run blco-bench tensor.blco --rank 8 --devices cpu --threads 2 --repeats 2 --loss poisson | hide_numbers
blco-bench tensor.blco --rank 8 --devices cpu --repeats 1 --loss huber:0.5 --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
loss = report["loss_passes"][0]
assert sorted(loss["pass"]) == sorted(report["passes"][0]) and loss["pass"]["mode"] is None
ratio = loss["pass"]["seconds"] / sum(p["seconds"] for p in report["passes"])
assert abs(ratio - loss["ratio"]) < 1e-3 * ratio, (ratio, loss["ratio"])
print(len(report["loss_passes"]), sorted(loss))'
run blco-bench tensor.blco --disk --threads 2 --repeats 2 | hide_numbers
blco-bench tensor.blco --disk --threads 3 --repeats 1 --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(sorted(report), sorted(report["reads"][0]))
print([read["readers"] for read in report["reads"]])
assert report["stored_bytes"] < report["file_bytes"]
assert all(read["seconds"] > 0 for read in report["reads"])'
run blco-bench tensor.blco --decode --vectors portable --repeats 2 | hide_numbers
blco-bench tensor.blco --decode --vectors avx2 --repeats 1 --json | python3 -c '
import json, sys
report = json.load(sys.stdin)
print(sorted(report), sorted(report["columns"][0]), report["nonzeros"])
assert report["vectors"] in ("portable", "avx2")
assert all(column["seconds"] > 0 for column in report["columns"])'
run blco-bench tensor.blco --rank 8 --repeats 0
run blco-bench tensor.blco --rank 8 --memory 1K 2>&1 | sed -E 's/ memory \([^)]*\)/ memory (TERMS)/; s/[0-9.]+ [KM]iB/SIZE/g; s/[0-9]+KiB/N/'
run blco-bench tensor.tns --rank 8
list_folder
