# Copies in the orders of modes: made at once or later, exported, verified; and what names no mode or has no copy.
write_small_tensor small.tns
run blco-ingest small.tns -o plain.blco --mode-names who,what,when --quiet
run blco-ingest small.tns -o t.blco --mode-names who,what,when --orders when,0 2>/dev/null | hide_sizes
run blco-export t.blco -o - --order-of when
run blco-export t.blco -o - --order-of what
blco-ingest plain.blco --orders who,2 -o given.blco --quiet && cmp given.blco t.blco && echo 'given later: the same container'
blco-ingest t.blco --orders none -o none.blco --quiet && cmp none.blco plain.blco && echo 'taken away: the same container'
run blco-info t.blco --verify | hide_sizes
run blco-info t.blco | hide_sizes
run blco-ingest small.tns -o small.blco --orders auto 2>/dev/null | hide_sizes
run blco-ingest small.tns -o new.blco --orders nobody
run blco-ingest plain.blco -o new.blco
run blco-ingest plain.blco -o new.blco --orders all --reorder frequency
run blco-ingest plain.blco -o plain.blco --orders all
printf '%s\n' '1 1 3' '2 1 4' '3 2 5' '4 1 6' '5 2 7' '6 2 8' '6 1 9' >thin.tns
run blco-ingest thin.tns -o thin.blco --mode-names who,sex --orders who 2>&1 | grep -v 'reading\|done' | hide_sizes
run blco-gen --shape 6x2 --nnz 9 -o drawn.blco --orders 0 2>&1 | hide_sizes
run blco-ingest thin.tns -o thin.blco --orders auto 2>/dev/null | grep 'orders\|mode'
run blco-ingest thin.tns -o thin.blco --orders all 2>/dev/null | grep 'orders\|mode' | hide_sizes
run blco-info thin.blco --verify | hide_sizes
list_folder
