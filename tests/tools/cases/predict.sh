# What a model says of entries: the table, the worst entries, the summary; labels, a pipe, entries without values.
python=${PYTHON:-/usr/bin/python3}
# A model of rank 1 that can be worked out by hand: 2 * user * item.
write_model() {
  "$python" -c '
import h5py, numpy as np
with h5py.File("model.h5", "w") as file:
    file.attrs["format"], file.attrs["rank"], file.attrs["shape"] = "blco-model", 1, [2, 3]
    file.attrs["mode_names"] = ["user", "item"]
    file["weights"] = np.array([2.0])
    file["factors/0"], file["factors/1"] = np.array([[0.5], [1.0]]), np.array([[1.0], [0.25], [3.0]])
    for n, labels in enumerate((["ann", "bob"], ["pen", "cup", "hat, red"])):
        texts = [label.encode() for label in labels]
        file[f"modes/{n}/labels"] = np.frombuffer(b"".join(texts), "u1")
        file[f"modes/{n}/label_ends"] = np.cumsum([len(text) for text in texts]).astype("u8")'
}
"$python" -c 'import h5py' 2>/dev/null || { echo "SKIPPED: this needs h5py"; exit 77; }
write_model
printf 'n,item,user\n1,pen,ann\n3,cup,bob\n0,"hat, red",bob\n1,cup,ann\n' >new.csv
run blco-predict model.h5 new.csv --value n -o out.csv | hide_sizes
printf 'item,user\npen,eve\n' | run blco-predict model.h5 - --modes user,item -o -
run cat out.csv
run blco-predict model.h5 new.csv -o out.tsv | hide_sizes
run cat out.tsv
run blco-predict model.h5 new.csv --value n --loss poisson --top 2 -o - --quiet | sed -E 's/([0-9]\.[0-9]{4})[0-9]+/\1/'
# A zero has no deviance where the loss takes numbers above 0.
run blco-predict model.h5 new.csv --value n --loss gamma -o - 2>&1 | sed -E 's/([0-9]\.[0-9]{4})[0-9]+/\1/'
run blco-predict model.h5 new.csv --value n --loss huber:1 --summary
printf 'user;item;n\nann;pen;1,5\n\nzoe;pen;1\nNA;cup;2\nbob;cap;2\n' >odd.csv
run blco-predict model.h5 odd.csv --value n --decimal , --missing skip --skip-unknown -o -
run blco-predict model.h5 odd.csv --value n --decimal , --missing skip --skip-unknown --summary --json | grep result
blco-ingest new.csv --modes user,item --value n -o new.blco --quiet
run blco-predict model.h5 new.blco -o out.csv.gz | hide_sizes
zcat out.csv.gz
printf '2 3 7\n1 1 0\n' | blco-predict model.h5 - -o - --quiet
printf '1 2\n0 0\n' | blco-predict model.h5 - --without-values --index-base 0 -o - --quiet
# A signal ends it in order, and nothing is left.
mkfifo endless
exec 3<>endless
yes '1 2 3' | head -n 100000 >lines
(while cat lines; do :; done) >endless 2>/dev/null &
feeder=$!
interruptible blco-predict model.h5 endless -o never.csv >/dev/null 2>log &
while ! grep -q '^blco-predict' log 2>/dev/null; do sleep 0.01; done
kill -TERM $!
wait $!
echo "exit $?"
cat log
kill $feeder
rm endless lines log
list_folder
