// The options that describe a table, of the programs that read some.
#pragma once

#include <blco/ingest.hpp>

#include "tools/programs/cli.hpp"

namespace blco::cli {

// What differs between the programs.
struct TableTexts {
  OptionText modes;
  OptionText value;
};

// Adds --modes, --value, --separator, --decimal and --missing. `columns` must outlive the parse.
void add_table_options(CommandLine& line, ColumnOptions& columns, const TableTexts& texts);

}  // namespace blco::cli
