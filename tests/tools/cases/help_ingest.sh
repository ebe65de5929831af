run blco-ingest --help
