run blco-gen --help
