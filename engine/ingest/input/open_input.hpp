// Chooses a reader for input files by the options, their names and their first bytes.
#pragma once

#include <blco/ingest_input.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "blco/input_reading.hpp"
#include "blco/labels.hpp"
#include "io/arrow/arrow_stream.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

// NumPy archives and HDF5 files are read as arrays. Anything else is read as text, pipes included: as a table if
// options.columns names modes, else as coordinates. Several inputs make one tensor. Where memory is short, the reader
// takes about an eighth of options.memory_bytes; keys take up to half of it.
// Throws Error as the readers do, and invalid_argument if text and arrays are mixed, if lines of arrays are to be
// skipped, if a .csv or .tsv comes without columns, and for a file of a format that is recognised but not read.
std::unique_ptr<CoordinateReader> open_input(const std::vector<std::filesystem::path>& inputs,
                                             const IngestOptions& options, Executor& executor);

// The same of an Arrow stream, whose columns options.columns names. options.shape is the reader's business.
std::unique_ptr<CoordinateReader> open_stream(ArrowStream stream, const IngestOptions& options, Executor& executor);

// Whether the name of a file says that it is delimited text: .csv or .tsv, plain or compressed.
bool is_table_name(const std::filesystem::path& file);

// Columns of keys that labels_from knows are those of a table that was exported: what it says of them holds, as it does
// of bins.
InputReading decide_reading(const std::vector<std::string>& names, const std::vector<KeyedMode>& keyed,
                            const ColumnOptions& columns);

// What is known of a tensor before its entries are read: that of a model.
struct KnownTensor {
  std::string name;                     // in messages
  std::vector<std::string> mode_names;  // one per mode
  std::vector<std::string> columns;     // as InputReading has them
  std::vector<Labels> labels;           // per mode; empty: its coordinates are numbers
  bool without_values = false;          // lines of coordinate text hold coordinates alone
};

// Opens one input likewise, whose entries have as many modes. In a table, options.columns.modes are those modes in
// their order; without them it has those of known.columns, or of their names. Its keys are the known labels: any other
// gets a coordinate beyond them, and unknown_key() tells it. options.columns.labels_from, shape, mode_names and
// label_files are not read. Keys may take any memory: max_known_key_bytes() at most. Throws Error as open_input does,
// and invalid_argument for a table of another number of modes, or of a mode without labels.
std::unique_ptr<CoordinateReader> open_entries(const std::filesystem::path& input, const IngestOptions& options,
                                               const KnownTensor& known, Executor& executor);

// Of the labels of a mode.
struct LabelSizes {
  std::uint64_t count = 0;
  std::uint64_t text_bytes = 0;
};

// What the reader of a table takes for the known labels, of which `labels` has one per mode.
std::uint64_t max_known_key_bytes(std::span<const LabelSizes> labels);

// The least that a reader of one input takes beside that, whatever it is.
std::uint64_t min_entry_reader_bytes(int threads);

}  // namespace blco
