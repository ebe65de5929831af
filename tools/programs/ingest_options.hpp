// Options of the programs that write containers or read tables.
#pragma once

#include <blco/ingest.hpp>

#include "tools/programs/cli.hpp"

namespace blco::cli {

// Adds --tmp, --reorder, --orders, --compression and --chunk-nnz. `ingest` must outlive the parse.
void add_container_options(CommandLine& line, IngestOptions& ingest);

// Adds --modes, --value, --separator, --decimal, --quotes and --missing; the programs differ in two texts. `columns`
// must outlive the parse.
void add_table_options(CommandLine& line, ColumnOptions& columns, const OptionText& modes, const OptionText& value);

}  // namespace blco::cli
