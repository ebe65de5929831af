# Tables as other programs write them: line breaks in quotes, missing fields, decimal commas, columns in another order.
cat >make.py <<'PYTHON'
import csv
rows = [["ann", "x, 1", "2,5", "two\nlines"], ["", "y", "1", ""], ["bob", "NA", "3", "a"],
        ["Zoë", 'say "y"\nagain', "4", "b"], ["bob", "y", "null", "c"], ["ann", "y", "-0,5", 'd"']]
with open("de.csv", "w", newline="", encoding="utf-8-sig") as file:
    table = csv.writer(file, delimiter=";", lineterminator="\r\n")
    table.writerow(["user name", "item, long", "price", "note"])
    table.writerows(rows)
with open("more.tsv", "w", newline="") as file:
    table = csv.writer(file, delimiter="\t", lineterminator="\n")
    table.writerow(["price", "extra\ncolumn", "item, long", "user name"])
    table.writerow(["7", "-", "y", "cid"])
PYTHON
/usr/bin/python3 make.py
modes='user name,"item, long"'
table=(--modes "$modes" --value price --decimal ,)
run blco-ingest de.csv more.tsv "${table[@]}" --missing skip -o skip.blco 2>/dev/null | hide_sizes
run blco-export skip.blco -o - --format csv
run blco-ingest de.csv more.tsv "${table[@]}" --missing unknown -o key.blco 2>/dev/null | hide_sizes
run blco-export key.blco -o - --format csv
for missing in NA skip; do
  blco-ingest de.csv "${table[@]}" --missing $missing --json -o json.blco 2>/dev/null |
    grep -o '"skipped_rows":\[[^]]*\]'
done

# There and back, and from a pipe.
blco-export key.blco -o back.csv >/dev/null
blco-ingest back.csv --modes "$modes" --value price --labels-from key.blco -o again.blco --quiet
cmp again.blco key.blco && echo 'the same container'
gzip -c de.csv | blco-ingest - --modes '"user name" , "item, long"' --value price --decimal , --missing skip \
  -o piped.blco --quiet
blco-ingest de.csv "${table[@]}" --missing skip --threads 1 --memory 64MiB -o file.blco --quiet
cmp piped.blco file.blco && echo 'piped: the same container'

# A comma may be both: then values need quotes.
printf 'a,b\nx,"1,5"\n"y\n",2\n' >both.csv
blco-ingest both.csv --modes a --value b --decimal , -o both.blco --quiet
run blco-export both.blco -o - --format csv

# Quotes as ordinary characters, and what is noted where they swallow rows; keys that are equal as numbers; a shape
# above coordinates; times in digits.
printf 'prev\tcurr\tn\nA\tX\t1\nB\t"Heroes\t2\nC\tY\t4\nD\tZ"\t8\n' >clicks.tsv
run blco-ingest clicks.tsv --modes prev,curr --value n --quotes none -o clicks.blco 2>&1 | grep 'note\|quote\|nonzeros'
run blco-export clicks.blco -o - --format csv
run blco-ingest clicks.tsv --modes prev,curr --value n -o swallowed.blco 2>&1 | grep 'quote\|nonzeros'
printf 'user,month,when\nu1,1,100000\nu2,2,31535999\nu1,1.0,200000\n' >ids.csv
run blco-ingest ids.csv --modes user,month,when:day -o ids.blco 2>&1 | grep 'the mode'
printf '4 3 2 3\n1 1 1 5\n4 3 2 6\n2 2 1 7\n' >shape.tns
run blco-ingest shape.tns -o shape.blco 2>&1 | grep 'line 1'
blco-ingest shape.tns -o shape.blco --json 2>/dev/null | grep -o '"notes":\[[^]]*\]'
blco-ingest shape.tns -o shape.blco --skip-lines 1 --json 2>/dev/null | grep -o '"notes":\[[^]]*\]'
list_folder
