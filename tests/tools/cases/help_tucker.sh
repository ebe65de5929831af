run blco-tucker --help
