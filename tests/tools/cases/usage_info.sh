run blco-info
run blco-info a b
run blco-info small.blco --bytes
run blco-info no-such-file.blco
run blco-info .
list_folder
