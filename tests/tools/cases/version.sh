run blco-ingest --version
run blco-cpd --version
run blco-export --version
run blco-gen --version
run blco-info --version
run blco-predict --version
