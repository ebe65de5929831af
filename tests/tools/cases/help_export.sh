run blco-export --help
