# A month of events, then two: keys keep their numbers, and the fit of both months starts from the model of the first.
cat >make.py <<'PYTHON'
import csv, random
source = random.Random(8)
rows = [[], []]  # of January, and later: more users, items and days
for group, weight in enumerate([9, 5, 3]):
    for user in range(6):
        for item in range(4):
            for day in range(4):
                is_late = user >= 4 or item >= 3 or day >= 2
                rows[is_late].append([f"{group} user {user}", f"{group} item {item}", f"{group} day {day}",
                                      weight * (user + 1) * (item + 1) * (day + 1)])
for name, month in zip(("january", "february"), rows):
    source.shuffle(month)
    with open(f"{name}.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([["user", "item", "day", "count"], *month])
PYTHON
/usr/bin/python3 make.py
run blco-ingest january.csv --modes user,item,day --value count -o january.blco 2>/dev/null | sed -n 2,5p
blco-cpd january.blco --rank 3 --seed 3 --threads 1 --sweeps 200 --tolerance 1e-12 -o january.h5 --quiet
run blco-ingest january.csv february.csv --modes user,item,day --value count --labels-from january.blco -o both.blco 2>/dev/null | sed -n 2,5p
blco-ingest january.csv february.csv --modes user,item,day --value count --labels-from january.h5 -o again.blco --quiet && cmp both.blco again.blco &&
  echo 'the same container with the keys of the model'

run blco-cpd both.blco --init january.h5 --dry-run | grep '^start'
run blco-cpd both.blco --init january.h5 --dry-run --json | grep -o '"new_rows":[^]]*]'
run blco-cpd both.blco --init january.h5 --threads 1 --sweeps 200 --tolerance 1e-12 -o both.h5 | grep '^start\|^model'
blco-info both.h5 --top 2 | sed -n '/^component /,$p' | grep '^  ' | sed 's/ [0-9.]*\(,\|$\)/\1/g' | sort
sweeps() { blco-info "$1" | sed -n 's/^sweeps *//p'; }
blco-cpd both.blco --rank 3 --seed 3 --threads 1 --sweeps 200 --tolerance 1e-12 -o cold.h5 --quiet
[ "$(sweeps both.h5)" -lt "$(sweeps cold.h5)" ] && echo 'fewer sweeps than from random factors'

# The new rows are those of the seed, whatever the threads and the memory.
first_fit() { blco-cpd both.blco --init january.h5 --sweeps 1 --deterministic -o one.h5 --quiet "$@" && cksum <one.h5; }
[ "$(first_fit --threads 1)" = "$(first_fit --threads 2 --memory 16MiB)" ] && echo 'the same with two threads in 16 MiB'
[ "$(first_fit --threads 1)" != "$(first_fit --threads 1 --seed 2)" ] && echo 'another with another seed'

# What cannot be: a model of keys with other numbers, one of more keys, a fit that goes on as if nothing had grown.
blco-ingest february.csv january.csv --modes user,item,day --value count -o other.blco --quiet
run blco-cpd other.blco --init january.h5 -o out.h5
run blco-cpd january.blco --init both.h5 -o out.h5
run blco-cpd both.blco --resume january.h5 -o out.h5
run blco-cpd both.blco --init january.h5 --rank 4 -o out.h5
list_folder
