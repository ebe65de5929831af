# A model remembers how its table was read: another table is read alike, and entries of equal coordinates become one.
cat >make.py <<'PYTHON'
import random
random.seed(7)
with open("sales.csv", "w") as file:
    file.write("shop,when,price,count\n")
    for i in range(3000):
        shop = random.choice(["kiosk", "bar", ""] if i % 50 == 0 else ["kiosk", "bar"])
        file.write(f"{shop},2024-03-{random.randint(1, 28):02}T{random.randint(8, 12):02}:30,{random.randint(1, 40)},{random.randint(1, 4)}\n")
PYTHON
/usr/bin/python3 make.py
blco-ingest sales.csv --modes shop,when:weekday,price:bins=4 --value count --missing skip -o sales.blco --quiet
blco-cpd sales.blco --rank 2 --sweeps 20 --threads 1 --seed 1 -o model.h5 --quiet
run blco-info sales.blco | sed -n 2,4p

# Without --modes and --missing: the sums that the model was fitted to, in the order of the container.
run blco-predict model.h5 sales.csv --value count -o alike.csv 2>&1 | hide_sizes | cut -c 1-60
blco-predict model.h5 sales.blco -o container.csv --quiet && cmp alike.csv container.csv && echo 'as from the container'
for budget in 16 64; do
  blco-predict model.h5 sales.csv --value count -o small.csv --memory ${budget}MiB --threads 3 --quiet && cmp small.csv container.csv && echo "$budget MiB: the same"
done
run blco-predict model.h5 sales.csv --value count --each-entry --summary 2>&1 | grep 'entries'
run blco-predict model.h5 sales.csv --summary 2>&1 | grep 'entries'
blco-export sales.blco -o back.csv --quiet && blco-predict model.h5 back.csv --value count -o again.csv --quiet && cmp again.csv container.csv && echo 'a table that was exported'
blco-predict model.h5 sales.csv --value count --loss bernoulli-odds --summary 2>&1 | tail -1

# Entries that repeat coordinates, and a model that remembers nothing of it.
printf '1 1 5\n1 2 3\n2 1 4\n2 2 1\n' >numbers.tns
blco-ingest numbers.tns -o numbers.blco --quiet && blco-cpd numbers.blco --rank 1 --sweeps 9 --threads 1 -o numbers.h5 --quiet
run blco-predict numbers.h5 <(cat numbers.tns numbers.tns) --summary 2>&1 | grep 'repeat'
run blco-predict numbers.h5 numbers.tns --summary 2>&1 | grep 'repeat'
for duplicates in mean last count; do
  blco-ingest numbers.tns numbers.tns --duplicates $duplicates -o numbers.blco --quiet && blco-cpd numbers.blco --rank 1 --sweeps 9 --threads 1 -o numbers.h5 --quiet
  blco-predict numbers.h5 numbers.blco -o container.csv --quiet && blco-predict numbers.h5 <(cat numbers.tns numbers.tns) -o alike.csv --quiet && cmp alike.csv container.csv && echo "$duplicates: as from the container"
done
