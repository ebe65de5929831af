# A table of sales with time stamps and prices: days, hours of the day and bins become modes, and a model shows them by their labels.
cat >make.py <<'PYTHON'
import csv, datetime, random
source = random.Random(7)
with open("sales.csv", "w", newline="") as file:
    table = csv.writer(file, lineterminator="\n")
    table.writerow(["shop", "when", "price"])
    start = datetime.datetime(2024, 2, 27)
    for _ in range(3000):
        group = source.randrange(2)
        hour, price = (source.randint(8, 10), source.uniform(1, 10)) if group == 0 else (source.randint(18, 20), source.uniform(30, 40))
        when = start + datetime.timedelta(days=source.choice([0, 1, 2, 4]), hours=hour, minutes=source.randrange(60))
        text = when.isoformat() + "Z" if source.random() < 0.5 else str(int((when - datetime.datetime(1970, 1, 1)).total_seconds()))
        table.writerow([["bakery", "bar"][group], text, f"{price:.2f}"])
    table.writerow(["bakery", "2024-02-27", "0"])
    table.writerow(["bar", "2024-02-27", "40"])
PYTHON
/usr/bin/python3 make.py

# The columns as they are: nearly as many keys as rows.
run blco-ingest sales.csv --modes shop,when,price -o raw.blco 2>&1 >/dev/null | grep COLUMN:day
blco-ingest sales.csv --modes shop,when,price -o raw.blco --json | grep -o '"crowded_modes":[^]]*]'

run blco-ingest sales.csv --modes shop,when:day:every,when:hour-of-day,price:bins=4 -o sales.blco --quiet
run blco-info sales.blco | head -6
run blco-export sales.blco -o - --format csv | cut -d, -f 2- | sort | head -4
blco-cpd sales.blco --rank 2 --threads 1 --seed 1 --sweeps 100 -o model.h5 >/dev/null 2>&1
run blco-info model.h5 --top 3 | grep -A 5 '^component 0\|^component 1' | sed 's/component .*share/component, share/' | grep 'hour\|shop\|price'

# To a table and back: its columns have the modes' names, so their fields are taken as they are.
blco-export sales.blco -o back.csv >/dev/null
blco-ingest back.csv --modes shop,when:day,when:hour-of-day,price --value value --labels-from sales.blco -o back.blco --quiet
cmp sales.blco back.blco && echo 'the same container'

# More rows: old labels keep their numbers, and the bins are the old ones.
printf 'shop,when,price\nkiosk,2024-03-04T09:30+01:00,12.5\nbar,2024-02-20,40\n' >more.csv
run blco-ingest more.csv --modes shop,when:day,when:hour-of-day,price:bins=4 --labels-from sales.blco -o more.blco --quiet
run blco-export more.blco -o more.tns | hide_sizes
run cat more.tns
run blco-export more.blco -o - --format csv

# Quantiles cannot split equal prices; weeks are those of ISO 8601.
printf 'when,price\n2024-12-29,1\n2024-12-30,1\n20250101,1\n1735689600000,9\n' >weeks.csv
run blco-ingest weeks.csv --modes when:week,price:quantiles=3 -o weeks.blco 2>&1 | grep 'bins\|shape\|keys'
run blco-export weeks.blco -o - --format csv
blco-ingest weeks.csv --modes when:week,price:quantiles=3 -o weeks.blco --json | grep -o '"fewer_bins":[^]]*]'

# The same bytes for any threads and memory, and the same table when reordered.
modes=shop,when:minute,price:quantiles=7
blco-ingest sales.csv --modes $modes -o one.blco --threads 1 --quiet
blco-ingest sales.csv --modes $modes -o two.blco --threads 3 --memory 64MiB --quiet && cmp one.blco two.blco && echo 'the same container'
blco-ingest sales.csv --modes $modes -o two.blco --reorder frequency --quiet
cmp <(blco-export one.blco -o - --format csv | sort) <(blco-export two.blco -o - --format csv | sort) && echo 'the same table'
rm ./*.blco
list_folder
