run blco-info --help
