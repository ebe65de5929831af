run blco-bench --help
