# Labels for coordinates: lists of lines, as FROSTT's .map files, reach info, models, tables and other programs.
PYTHON=/usr/bin/python3
"$PYTHON" -c 'import h5py' || exit 77
write_small_tensor small.tns
printf '\xef\xbb\xbfann\r\nbob, the "third"\r\nrené\r\nrené\r\n' >who.map
printf 'red\ngreen\nblue\ngold\n' | gzip >what.map.gz
run blco-ingest small.tns -o small.blco --mode-names who,what,when --labels who=who.map --labels 1=what.map.gz 2>/dev/null | sed -n 1,5p
run blco-info small.blco | sed -n 2,5p
run blco-export small.blco -o - --format csv
cat >h5.py <<'PYTHON'
import sys, h5py, numpy as np
with h5py.File(sys.argv[1]) as file:
    mode = file['modes/0']
    print([part.tobytes().decode() for part in np.split(mode['labels'][:], mode['label_ends'][:-1])])
PYTHON
blco-cpd small.blco --rank 1 --sweeps 1 --threads 1 -o model.h5 --quiet
run /usr/bin/python3 h5.py small.blco
run /usr/bin/python3 h5.py model.h5
blco-export model.h5 -o factors --quiet && run cat factors/mode0_who.labels.txt && cut -d , -f 1 factors/mode1_what.csv | paste -sd ' '

# The list that was exported serves again; text that counts from 0, threads, reordering and arrays change nothing.
awk '{ print $1 - 1, $2 - 1, $3 - 1, $4 }' small.tns >zero.tns
again() { blco-ingest -o again.blco --quiet --mode-names who,what,when --labels who=factors/mode0_who.labels.txt --labels what=<(zcat what.map.gz) "$@" && cmp again.blco small.blco; }
again small.tns && echo 'the same container'
again zero.tns --index-base 0 --threads 3 && echo 'and from 0'
"$PYTHON" -c "
import numpy as np
rows = np.loadtxt('zero.tns')
np.savez('small.npz', coords=rows[:, :3].T.astype('u8'), values=rows[:, 3])"
again small.npz && echo 'and from arrays'
blco-ingest small.tns -o other.blco --mode-names who,what,when --labels who=who.map --labels what=what.map.gz --reorder frequency --quiet
blco-export other.blco -o - --format csv | sort >other.csv
blco-export small.blco -o - --format csv | sort | cmp - other.csv && echo 'the same table, reordered'

# A message names labels; a line break within a label has no place in a list.
run blco-ingest small.tns small.tns --duplicates error -o out.blco --labels 0=who.map 2>&1 | grep -o 'the coordinates .* once'
edit_hdf5 model.h5 "del f['modes/1/labels'].attrs['crc32c']; f['modes/1/labels'][3] = 10"
run blco-export model.h5 -o broken 2>&1 | grep -v '\.npy' | hide_sizes
list_folder
