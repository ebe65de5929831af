# A budget above the machine's memory is no error, but it is said.
hide() { sed -E 's/exceeds the .* (of this machine|that this process.s cgroup may take):/exceeds the SIZE of this machine:/'; }
write_small_tensor t.tns
blco-ingest t.tns -o t.blco --memory 4096TiB 2>&1 >/dev/null | grep budget | hide
blco-ingest t.tns -o t.blco --memory 512MiB 2>&1 | grep -c 'exceeds'
blco-cpd t.blco --rank 2 --sweeps 1 --devices cpu --memory 4096TiB -o m.h5 | grep exceeds | hide
blco-cpd t.blco --rank 2 --sweeps 1 --devices cpu --memory 4096TiB -o m.h5 --json | grep -o '"memory_note":"[^"]*"' | hide
blco-cpd t.blco --rank 2 --sweeps 1 --devices cpu --memory 512MiB -o m.h5 | grep -c exceeds
list_folder
