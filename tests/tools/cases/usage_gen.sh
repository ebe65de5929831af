run blco-gen
run blco-gen --shape 3x4x2 --nnz 5
run blco-gen --shape 3x4x2 -o out.tns
run blco-gen --nnz 5 -o out.tns
run blco-gen --shape 3x4x2 --nnz 0 -o out.tns
run blco-gen --shape 3x4x2 --nnz 4611686018427387905 -o out.tns
run blco-gen --shape 3x0x2 --nnz 5 -o out.tns
run blco-gen --shape 4294967296x4294967296x4294967296x4294967296x2 --nnz 5 -o out.tns
run blco-gen --shape 3x4x2 --nnz 5 --skew 0 -o out.tns
run blco-gen --shape 3x4x2 --nnz 5 --skew 100 -o out.blco
run blco-gen --shape 3x4x2 --nnz 5 --noise -1 -o out.tns
run blco-gen --shape 3x4x2 --nnz 5 --rank 5000 -o out.tns
run blco-gen --shape 3x4x2 --nnz 5 --counts yes -o out.tns
run blco-gen --shape 3x4x2 --nnz 5 -o no/such/folder/out.tns
list_folder
