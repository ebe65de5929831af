# A table of string keys with three planted groups of users, items and days, made into a model whose components are those groups.
cat >make.py <<'PYTHON'
import csv, random
source = random.Random(6)
with open("clicks.csv", "w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["day", "user", "note", "item", "count"])
    for group, (name, weight) in enumerate([("cats, big", 9), ("dögs", 5), ("birds", 3)]):
        for user in range(4):
            for item in range(3):
                for day in range(2):
                    table.writerow([f"{name} day {day}", f"{name} user {user}", source.random(), f"{name} item {item}",
                                    weight * (user + 1) * (item + 1)])
PYTHON
/usr/bin/python3 make.py
run blco-ingest clicks.csv --modes user,item,day --value count -o clicks.blco 2>/dev/null | hide_sizes
run blco-info clicks.blco | head -5
blco-cpd clicks.blco --rank 3 --threads 1 --seed 1 --sweeps 200 --tolerance 1e-12 -o model.h5 >/dev/null 2>&1
run blco-info model.h5 --top 10 | grep -A 40 '^component 0\|^component 1\|^component 2' | sed 's/weight .*share/share/'
run blco-info model.h5 --top 1 --json | grep -o '"name":"[^"]*"' | sort | uniq -c

# To text and back.
run blco-export clicks.blco -o out.csv | hide_sizes
run head -3 out.csv
blco-ingest out.csv --modes user,item,day --value count --labels-from clicks.blco -o again.blco --quiet && cmp again.blco clicks.blco &&
  echo 'the same container'
run blco-export clicks.blco -o - --format tsv | head -3
run blco-export clicks.blco -o - | head -3
blco-export model.h5 -o factors >/dev/null && run head -2 factors/mode0_user.labels.txt
sed -n 's/^\("[^"]*"\|[^,]*\),.*/\1/p' factors/mode0_user.csv | sed -n '1,2p;6p'

# Reordered: the same table comes out of it, and the same labels out of its model.
sed '2,6d' clicks.csv >fewer.csv
for order in none frequency; do
  blco-ingest fewer.csv --modes user,item,day --value count --reorder $order -o $order.blco --quiet
  blco-info $order.blco | grep '^reordered'
  blco-export $order.blco -o - --format csv | sort >$order.csv
  blco-cpd $order.blco --rank 3 --threads 1 --seed 1 --sweeps 200 --tolerance 1e-12 -o $order.h5 >/dev/null 2>&1
  blco-info $order.h5 --top 10 | grep -A 40 '^component' >$order.top
done
cmp none.csv frequency.csv && echo 'the same table, but for its order'
cmp none.top frequency.top && echo 'the same labels on top'
rm fewer.csv none.* frequency.*

# Every row counts 1; standard input; threads and memory.
blco-ingest clicks.csv --modes user,day -o counts.blco --quiet
run blco-export counts.blco -o - --format csv | head -3
blco-ingest - --modes user,day --threads 2 --memory 64MiB -o piped.blco --quiet <clicks.csv && cmp piped.blco counts.blco && echo 'piped: the same container'
list_folder
