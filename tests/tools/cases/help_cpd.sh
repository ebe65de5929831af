run blco-cpd --help
