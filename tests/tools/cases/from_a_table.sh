# A small table of orders, as tools/programs/FROM_A_TABLE.md has a large one: from the file to components.
/usr/bin/python3 "$(dirname "${BASH_SOURCE[0]}")/../make_orders.py" 20000 orders.csv
run blco-ingest orders.csv --modes 'product,city,ordered at:weekday,ordered at:hour-of-day' --value quantity --missing skip -o orders.blco 2>/dev/null | hide_sizes
blco-cpd orders.blco --rank 4 --threads 1 -o model.h5 --quiet
blco-cpd orders.blco --rank 1,2,3,4,5,6 --starts 3 --threads 1 2>/dev/null | grep '^choice'
# The labels of each component's largest entries, in the order of the alphabet.
blco-info model.h5 --top 3 | sed -n '/^component /,$p' | grep '^  ' | sed 's/ [0-9.]*\(,\|$\)/\1/g; s/  sparse *[0-9.]*%//' | sort
blco-export model.h5 -o factors --quiet
head -n 1 factors/mode0_product.csv
cut -d, -f1 factors/mode2_ordered_at_weekday.csv | sort
rm orders.csv
list_folder
