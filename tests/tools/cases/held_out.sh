# Held-out entries: parts of one input, and a later table with a new user.
cat >make.py <<'PYTHON'
import random
random.seed(1)
cells = [(f"user {u}", f"item {i}") for u in range(40) for i in range(30)]
rows = [(*random.choice(cells), random.randint(1, 5)) for _ in range(1500)]
for name, order in ("a.csv", rows), ("b.csv", rows[::-1]):
    with open(name, "w") as file:
        file.writelines("user,item,stars\n" if n < 0 else "%s,%s,%d\n" % order[n] for n in range(-1, len(order)))
with open("later.csv", "w") as file:
    file.write("user,item,stars\n" + "".join("%s,%s,%d\n" % row for row in rows[:50]) + "nobody,item 1,3\n")
PYTHON
/usr/bin/python3 make.py
table=(--modes user,item --value stars)
run blco-ingest a.csv "${table[@]}" -o train.blco --hold-out 20% --held-out-to held.blco 2>/dev/null | hide_sizes
run blco-info held.blco | sed -n 2,5p

# The parts make up the whole, and no cell is in both; neither the order of the rows nor threads and memory matter.
blco-ingest a.csv "${table[@]}" -o all.blco --quiet
cells() { blco-export "$1" -o - --format csv | sed 1d | sort; }
sort -m <(cells train.blco) <(cells held.blco) | cmp - <(cells all.blco) && echo 'the whole'
blco-ingest b.csv "${table[@]}" -o other.blco --hold-out 0.2 --held-out-to other-held.blco --quiet
cmp <(cells held.blco) <(cells other-held.blco) && echo 'the same cells from another order'
blco-ingest a.csv "${table[@]}" -o train2.blco --hold-out 20% --held-out-to held2.blco --threads 3 --chunk-nnz 300 --memory 1G --quiet
cmp <(cells held.blco) <(cells held2.blco) && cmp <(cells train.blco) <(cells train2.blco) && echo 'and from another budget'
awk 'BEGIN { for (i = 0; i < 5000; i++) print i % 50 + 1, i % 70 + 1, i % 9 + 1, 1 }' >numbers.tns
blco-ingest numbers.tns -o numbers.blco --hold-out 5% --held-out-to numbers-held.blco --quiet
run blco-info numbers-held.blco | grep shape

# A fit takes the held-out part, and a table of its own where its keys are those of the tensor.
fit=(blco-cpd train.blco --rank 2 --method complete --ridge 0.1 --sweeps 2 --threads 1 --quiet -o model.h5)
"${fit[@]}" --validate held.blco && echo 'validated'
blco-ingest later.csv "${table[@]}" -o later.blco --quiet
run "${fit[@]}" --validate later.blco
blco-ingest later.csv "${table[@]}" -o later.blco --labels-from train.blco --quiet
run "${fit[@]}" --validate later.blco
run blco-ingest later.csv "${table[@]}" -o later.blco --labels-from train.blco --skip-unknown 2>/dev/null | hide_sizes
"${fit[@]}" --validate later.blco && echo 'validated'

run blco-ingest later.csv "${table[@]}" -o no.blco --skip-unknown
run blco-ingest a.csv "${table[@]}" -o no.blco --hold-out 20%
run blco-ingest a.csv "${table[@]}" -o no.blco --hold-out 100% --held-out-to no2.blco
run blco-ingest numbers.tns -o no.blco --hold-out 0.0001% --held-out-to no2.blco 2>&1 | grep leaves
run blco-ingest numbers.tns -o no.blco --hold-out 5% --held-out-to no2.blco --reorder frequency
list_folder
