# A Tucker model of some users goes on with more of them, keeps the matrices of held modes, and gives its labels and how
# its table was read.
printf 'user,item,n\nAnn,tea,3\nBob,tea,1\nAnn,cup,2\nBob,pot,4\nCid,cup,1\n' >first.csv
printf 'user,item,n\nDan,tea,2\nAnn,pot,1\nEve,cup,5\n' >more.csv
blco-ingest first.csv --modes user,item --value n -o first.blco --quiet
blco-tucker first.blco --ranks 2 --threads 1 --quiet -o first.h5
run blco-ingest more.csv --modes user,item --value n --labels-from first.h5 -o more.blco --quiet
run blco-export more.blco -o - --format csv
run blco-tucker more.blco --init first.h5 --threads 1 -o longer.h5 | grep '^start\|^model'
run blco-tucker more.blco --init first.h5 --hold user --quiet -o held.h5
run blco-tucker more.blco --init first.h5 --hold item --threads 1 --quiet -o held.h5
run blco-tucker more.blco --resume held.h5 --hold user --sweeps 60 -o none.h5
run blco-tucker more.blco --ranks 2 --hold item -o none.h5
run blco-tucker more.blco --init first.h5 --hold colour -o none.h5
run blco-tucker more.blco --init first.h5 --hold item --error 0.1 -o none.h5
# A table is read as that of the model was: times by the day.
printf 'user,when,n\nAnn,2024-01-01T10:00:00,3\nBob,2024-01-02T11:00:00,1\nAnn,2024-01-02T12:00:00,2\n' >days.csv
blco-ingest days.csv --modes user,when:day --value n -o days.blco --quiet
blco-tucker days.blco --ranks 2 --threads 1 --quiet -o days.h5
blco-predict days.h5 days.csv -o days-values.csv --quiet && cut -d, -f1,2 days-values.csv
blco-export first.h5 -o before --quiet
blco-export held.h5 -o after --quiet
run cmp before/mode1_item.npy after/mode1_item.npy
ls
