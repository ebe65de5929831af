# Three components in every cell: their fit does not grow beyond rank 3, where core consistency falls and starts differ.
cat >make.py <<'PYTHON'
import numpy as np
random = np.random.default_rng(2)
a, b, c = (random.random((length, 3)) for length in (12, 10, 8))
x = np.einsum("ir,jr,kr->ijk", a, b, c) + 0.001 * random.random((12, 10, 8))
with open("t.tns", "w") as file:
    for place, value in np.ndenumerate(x):
        print(*(i + 1 for i in place), value, file=file)
PYTHON
/usr/bin/python3 make.py || exit 77
blco-ingest t.tns -o t.blco --quiet
fit() { blco-cpd t.blco --threads 1 --devices cpu "$@"; }
# Columns: rank, fit, mean and lowest match, core consistency, sweeps. Only their sizes are the same on every CPU.
short() {
  awk '/^ +[0-9]/ { print $1, substr($2, 1, 4), ($4 > 0.95 ? "stable" : "unstable"),
    ($5 > 99 ? "near 100" : ($5 < 50 ? "below 50" : "between")); next } 1'
}
fit --rank 1,2,3,4 --sweeps 500 --tolerance 1e-9 --starts 3 -o 'model-{rank}.h5' 2>/dev/null |
  grep -vE '^(device|memory|plan)' | short
blco-info model-3.h5 | grep -E '^rank' | shorten_fits
# Which rank and start runs, and how it ended, is told on standard error.
fit --rank 3,2 --sweeps 5 --tolerance 0 --starts 2 2>&1 >/dev/null | sed -E 's/ [01]\.[0-9]+/ X/g; s/  best.*//'
fit --rank 3,2 --sweeps 5 --nonnegative 2>/dev/null | grep -cE '^ +[23] '
fit --rank 100,2 --sweeps 2 --tolerance 0 2>/dev/null | grep -E '^(note|model)'
fit --rank 2,3,4 --time-limit 0.000001 >/dev/null
echo "exit $?"
rm make.py t.tns
list_folder
