run blco-predict --help
