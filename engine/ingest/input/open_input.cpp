// Chooses a reader by the options, the names and the magic bytes of the files.
#include "engine/ingest/input/open_input.hpp"

#include <unistd.h>

#include <algorithm>
#include <blco/tensor_file.hpp>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/memory.hpp"
#include "engine/ingest/sort/ingest_plan.hpp"
#include "io/arrays/coo_reader.hpp"
#include "io/arrow/arrow_reader.hpp"
#include "io/container/model_file.hpp"
#include "io/table/csv_header.hpp"
#include "io/table/csv_reader.hpp"
#include "io/table/key_dictionary.hpp"
#include "io/text/foreign_format.hpp"
#include "io/text/text_source.hpp"
#include "io/text/tns_reader.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

enum class InputKind { text, npz, hdf5 };

constexpr std::string_view zip = "PK\x03\x04";

// The first bytes of a file, and of an archive the last ones too.
std::string read_ends(const fs::path& file) {
  constexpr std::size_t head_bytes = 512;
  constexpr std::uint64_t tail_bytes = std::uint64_t{64} << 10;
  std::ifstream stream(file, std::ios::binary);
  std::string ends(head_bytes, '\0');
  stream.read(ends.data(), head_bytes);
  ends.resize(static_cast<std::size_t>(stream.gcount()));
  std::error_code ignored;
  const std::uint64_t bytes = fs::file_size(file, ignored);
  if (!ends.starts_with(zip) || ignored) return ends;
  stream.clear();
  stream.seekg(static_cast<std::streamoff>(bytes - std::min(bytes, tail_bytes)));
  ends.append(std::istreambuf_iterator<char>(stream), {});
  return ends;
}

// A pipe is text: what is read from it now would be missing later. Refuses what is neither text nor arrays.
InputKind kind_of(const fs::path& input) {
  constexpr std::string_view empty_zip = "PK\x05\x06";
  const fs::path file = split_hdf5_group(input).first;
  std::error_code ignored;
  const bool was_read = is_standard_input(file) && ::lseek(STDIN_FILENO, 0, SEEK_CUR) > 0;
  if (was_read || !fs::is_regular_file(file, ignored)) return InputKind::text;
  const std::string ends = read_ends(file);
  if (has_hdf5_superblock(file)) return InputKind::hdf5;
  if (is_compressed_text(ends)) return InputKind::text;
  if (const auto foreign = explain_foreign_format(ends)) refuse(file.string() + ": " + *foreign);
  return ends.starts_with(zip) || ends.starts_with(empty_zip) ? InputKind::npz : InputKind::text;
}

struct NamedLabels {
  std::vector<std::string> names;  // of the modes
  std::vector<Labels> labels;      // per mode, or none at all
};

// Of a container or a model; those of a container take `max_bytes` at most.
NamedLabels read_named_labels(const fs::path& file, std::uint64_t max_bytes) {
  if (const std::optional<ModelKind> kind = model_kind(file)) {
    const ModelFileReader model(file, *kind);
    std::vector<std::string> modes = model.header().mode_names;
    while (modes.size() < model.header().shape.size()) modes.push_back("mode" + std::to_string(modes.size()));
    return {std::move(modes), model.read_labels()};
  }
  const TensorFile tensor(file);
  const std::vector<std::uint64_t>& sizes = tensor.summary().label_bytes;
  const std::uint64_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  if (bytes > max_bytes) {
    throw Error(ErrorKind::out_of_memory, "the labels of " + file.string() + " take " + format_bytes(bytes) +
                                              ", but the budget leaves " + format_bytes(max_bytes) +
                                              " for keys; raise " + option_name("memory_bytes") + ", or leave out " +
                                              option_name("columns.labels_from"));
  }
  return {tensor.summary().mode_names, tensor.labels()};
}

// Ends what a mode of times was asked for as, where a time counts by the clock of its zone and not by UTC, as it did in
// files of earlier builds.
constexpr std::string_view local_ending = ":local";

bool is_local(std::string_view column) { return (std::string(column) + ":").find(":local:") != std::string::npos; }

// The names of the modes of a container or a model, and how its input was read.
std::pair<std::vector<std::string>, InputReading> read_known_reading(const fs::path& file) {
  const std::optional<ModelKind> kind = model_kind(file);
  if (!kind) {
    const TensorFile tensor(file);
    return {tensor.summary().mode_names, tensor.summary().reading};
  }
  const ModelFileReader model(file, *kind);
  return {model.header().mode_names, model.header().reading};
}

// Modes of a file whose times, if they have any, count by UTC.
std::vector<std::string> utc_modes_of(const std::vector<std::string>& names, const std::vector<std::string>& columns) {
  std::vector<std::string> modes;
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (n >= columns.size() || !is_local(columns[n])) modes.push_back(names[n]);
  }
  return modes;
}

// Returns those of the modes that are asked for, by their names.
std::function<std::vector<Labels>(const std::vector<std::string>&)> known_labels(const ColumnOptions& columns,
                                                                                 std::uint64_t max_bytes) {
  if (columns.labels_from.empty()) return {};
  NamedLabels known = read_named_labels(columns.labels_from, max_bytes);
  const std::string remedy =
      "; give a container that was ingested with " + option_name("columns.modes") + ", or a model of one";
  if (known.labels.empty()) refuse(columns.labels_from.string() + " has no labels" + remedy);
  return [known = std::move(known), from = columns.labels_from.string(),
          remedy](const std::vector<std::string>& names) mutable {
    std::vector<Labels> labels;
    for (const std::string& name : names) {
      const auto mode = static_cast<std::size_t>(std::ranges::find(known.names, name) - known.names.begin());
      if (mode == known.names.size()) {
        refuse(from + " has no mode '" + name + "' to take labels from; its modes are " + list_columns(known.names) +
               "; name the modes as that file does");
      }
      if (known.labels[mode].empty()) {
        refuse(from + " has no labels of the mode '" + name + "', whose indices a table has with " + name + ":index" +
               remedy);
      }
      labels.push_back(std::exchange(known.labels[mode], {}));
    }
    return labels;
  };
}

CsvDialect dialect_of(const ColumnOptions& columns) {
  return {columns.separator, columns.decimal, columns.quotes == Quotes::csv};
}

MissingFields missing_of(const ColumnOptions& columns) {
  const bool is_key = columns.missing == Missing::key;
  if (is_key && columns.missing_key.empty()) {
    refuse(option_name("columns.missing") + " is an empty key; give error, skip, or a key such as unknown");
  }
  return {columns.missing != Missing::error, is_key ? columns.missing_key : "", columns.null_words};
}

// What both kinds of tables have in common.
TableOptions csv_options(const IngestOptions& options) {
  if (options.index_base != 1)
    refuse(option_name("index_base") + " does not apply to CSV input, whose keys are not coordinates; leave it out");
  TableOptions csv;
  csv.columns = {options.columns.modes, options.columns.value, options.columns.names};
  csv.dialect = dialect_of(options.columns);
  csv.missing = missing_of(options.columns);
  csv.skip_lines = options.skip_lines;
  csv.memory_bytes = host_budget(options.memory_bytes);
  csv.window_bytes = max_window_bytes(csv.memory_bytes);
  return csv;
}

// Of a table to be ingested: its keys, and their memory beside a reader that takes `reader_bytes`.
void set_keys(const IngestOptions& options, std::uint64_t reader_bytes, const Executor& executor, TableOptions& table) {
  table.key_bytes = max_key_bytes(table.memory_bytes);
  const IngestSizes sizes{.threads = executor.width(),
                          .order = static_cast<int>(table.columns.modes.size()),
                          .chunk_nnz = options.chunk_nnz,
                          .zstd_level = options.zstd_level};
  table.budget_for = [sizes, reader_bytes](std::uint64_t key_bytes) {
    return budget_with_keys(sizes, key_bytes, reader_bytes);
  };
  table.mode_names = options.mode_names;
  table.known = known_labels(options.columns, table.key_bytes);
  if (table.known) {
    const auto [names, reading] = read_known_reading(options.columns.labels_from);
    table.utc_modes = utc_modes_of(names, reading.columns);
  }
  table.skips_unknown = options.columns.skip_unknown;
  table.numbers_new_keys = !table.skips_unknown;
  if (table.skips_unknown && options.columns.labels_from.empty()) {
    refuse(option_name("columns.skip_unknown") + " requires " + option_name("columns.labels_from") +
           ", which says what keys are known");
  }
}

std::unique_ptr<CoordinateReader> open_columns(const std::vector<fs::path>& inputs, const IngestOptions& options,
                                               Executor& executor) {
  if (!options.shape.empty())
    refuse(option_name("shape") +
           " does not apply to CSV input, where the length of a mode is the number of its keys; leave it out");
  if (!options.label_files.empty())
    refuse(option_name("label_files") + " does not apply to CSV input, whose keys are its labels; leave it out");
  TableOptions csv = csv_options(options);
  csv.block_bytes = plan_block_bytes(csv.memory_bytes, csv.block_bytes,
                                     csv_reader_bytes(1, executor.width(), options.columns.skip_unknown));
  set_keys(options, csv_reader_bytes(csv.block_bytes, executor.width()), executor, csv);
  return open_csv(inputs, csv, executor);
}

TnsOptions tns_options(const IngestOptions& options, int threads) {
  TnsOptions tns{.index_base = options.index_base, .skip_lines = options.skip_lines};
  tns.explain_table = explain_table_header;
  tns.window_bytes = max_window_bytes(host_budget(options.memory_bytes));
  tns.block_bytes = plan_block_bytes(host_budget(options.memory_bytes), tns.block_bytes, tns_reader_bytes(1, threads));
  return tns;
}

std::unique_ptr<CoordinateReader> open_text(const std::vector<fs::path>& inputs, const IngestOptions& options,
                                            Executor& executor) {
  if (const auto csv = std::ranges::find_if(inputs, is_table_name); csv != inputs.end()) {
    refuse(csv->string() + " is CSV by its name; name the columns that become modes with " +
           option_name("columns.modes") + ", and the column of values, if there is one, with " +
           option_name("columns.value") +
           explain_columns(read_csv_columns(*csv, dialect_of(options.columns), options.skip_lines)));
  }
  return open_tns(inputs, tns_options(options, executor.width()), executor);
}

std::unique_ptr<CoordinateReader> open_known_columns(const fs::path& input, const IngestOptions& options,
                                                     const KnownTensor& known, Executor& executor) {
  if (known.without_values)
    refuse(option_name("without_values") + " does not apply to CSV input, which has values only where " +
           option_name("columns.value") + " names their column; leave it out");
  TableOptions csv = csv_options(options);
  if (csv.columns.modes.empty()) {
    csv.columns.modes = known.columns.empty() ? known.mode_names : known.columns;
    csv.columns.model = known.name;
  }
  if (csv.columns.modes.size() != known.mode_names.size()) {
    refuse(option_name("columns.modes") + " names " + std::to_string(csv.columns.modes.size()) +
           (csv.columns.modes.size() == 1 ? " column" : " columns") + ", but the modes of " + known.name + " are " +
           list_columns(known.mode_names) + "; name a column for each of them, in this order");
  }
  for (std::size_t n = 0; n < known.mode_names.size(); ++n) {
    if (n < known.labels.size() && !known.labels[n].empty()) continue;
    if (csv.columns.modes[n].ends_with(":index")) continue;
    refuse(known.name + " has no labels of the mode '" + known.mode_names[n] +
           "', so the keys of a table mean nothing to it; where they are indices, name the column with :index, or give "
           "coordinates as text or arrays");
  }
  csv.mode_names = known.mode_names;
  csv.numbers_new_keys = false;
  csv.known_from = {known.name, ""};
  csv.known = [labels = known.labels](const std::vector<std::string>&) { return labels; };
  csv.utc_modes = utc_modes_of(known.mode_names, known.columns);
  csv.block_bytes = plan_block_bytes(csv.memory_bytes, csv.block_bytes, csv_reader_bytes(1, executor.width(), true));
  return open_csv({input}, csv, executor);
}

std::unique_ptr<CoordinateReader> open_known_text(const fs::path& input, const IngestOptions& options,
                                                  const KnownTensor& known, Executor& executor) {
  TnsOptions tns = tns_options(options, executor.width());
  tns.order = static_cast<int>(known.mode_names.size());
  tns.order_from = "an entry of " + known.name;
  tns.has_values = !known.without_values;
  return open_tns({input}, tns, executor);
}

bool is_any_set(const ColumnOptions& columns) {
  const ColumnOptions usual;
  return !columns.value.empty() || columns.separator != usual.separator || columns.decimal != usual.decimal ||
         columns.quotes != usual.quotes || columns.missing != usual.missing || !columns.null_words.empty() ||
         !columns.names.empty() || !columns.labels_from.empty() || columns.skip_unknown;
}

void refuse_text_options(const std::string& file, const IngestOptions& options) {
  if (!options.columns.modes.empty()) {
    refuse(file + " holds arrays, not CSV; leave out " + option_name("columns.modes"));
  }
  if (options.skip_lines != 0) {
    refuse(file + " holds arrays and has no lines to skip; leave out " + option_name("skip_lines"));
  }
}

std::unique_ptr<CoordinateReader> open_arrays(std::vector<std::unique_ptr<CooSource>> sources,
                                              const IngestOptions& options, Executor& executor) {
  const std::uint64_t budget = host_budget(options.memory_bytes);
  std::uint64_t most = 0;
  for (const auto& source : sources) {
    most = std::max(most, source->memory_bytes());
    if (most <= budget) continue;
    throw Error(ErrorKind::out_of_memory,
                "to read " + source->path().string() + " takes " + format_bytes(most) +
                    " of memory, where datasets of HDF5 count by whole chunks, but the budget is " +
                    format_bytes(budget) + "; raise " + option_name("memory_bytes") +
                    " to three times that, or write the datasets again in smaller chunks, as with h5repack");
  }
  return make_coo_reader(std::move(sources), max_reader_bytes(budget), executor);
}

}  // namespace

bool is_table_name(const fs::path& file) {
  std::string name = file.filename().string();
  for (const std::string compression : {".gz", ".zst"}) {
    if (name.ends_with(compression)) name.resize(name.size() - compression.size());
  }
  return name.ends_with(".csv") || name.ends_with(".tsv");
}

std::unique_ptr<CoordinateReader> open_input(const std::vector<fs::path>& inputs, const IngestOptions& options,
                                             Executor& executor) {
  const ColumnOptions& columns = options.columns;
  if (columns.modes.empty() && is_any_set(columns)) {
    refuse(option_name("columns.value") + ", " + option_name("columns.separator") + ", " +
           option_name("columns.decimal") + ", " + option_name("columns.quotes") + ", " +
           option_name("columns.missing") + ", " + option_name("columns.null_words") + ", " +
           option_name("columns.names") + ", " + option_name("columns.labels_from") + " and " +
           option_name("columns.skip_unknown") + " require " + option_name("columns.modes") +
           ", which names the columns that become modes");
  }
  if (std::ranges::count_if(inputs, is_standard_input) > 1) {
    refuse("standard input is given twice; name it once, since nothing is left of it then");
  }
  std::vector<InputKind> kinds;
  for (const fs::path& input : inputs) kinds.push_back(kind_of(input));
  const auto text = std::ranges::find(kinds, InputKind::text);
  const auto arrays = std::ranges::find_if(kinds, [](InputKind kind) { return kind != InputKind::text; });
  if (arrays == kinds.end()) {
    return columns.modes.empty() ? open_text(inputs, options, executor) : open_columns(inputs, options, executor);
  }
  const auto name_of = [&](auto kind) { return inputs[static_cast<std::size_t>(kind - kinds.begin())].string(); };
  if (text != kinds.end()) {
    throw Error(ErrorKind::invalid_argument, name_of(arrays) + " holds arrays, but " + name_of(text) +
                                                 " is text; the files of one tensor must be all text or all arrays");
  }
  refuse_text_options(name_of(arrays), options);
  std::vector<std::unique_ptr<CooSource>> sources;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sources.push_back(kinds[i] == InputKind::npz ? open_npz(inputs[i]) : open_hdf5_coo(inputs[i]));
  }
  return open_arrays(std::move(sources), options, executor);
}

std::unique_ptr<CoordinateReader> open_stream(ArrowStream stream, const IngestOptions& options, Executor& executor) {
  if (options.columns.modes.empty())
    refuse("name the columns of the table that become modes with " + option_name("columns.modes"));
  if (options.columns.separator != 0) refuse(option_name("columns.separator") + " is about text; leave it out");
  if (options.columns.quotes != Quotes::csv) refuse(option_name("columns.quotes") + " is about text; leave it out");
  if (!options.columns.null_words.empty()) refuse(option_name("columns.null_words") + " is about text; leave it out");
  if (!options.columns.names.empty()) refuse(option_name("columns.names") + " is about text; leave it out");
  if (!options.label_files.empty())
    refuse(option_name("label_files") + " does not apply to a table, whose keys are its labels; leave it out");
  TableOptions table;
  table.columns = {options.columns.modes, options.columns.value};
  table.dialect = dialect_of(options.columns);
  table.missing = missing_of(options.columns);
  table.memory_bytes = host_budget(options.memory_bytes);
  const std::uint64_t reader_bytes = max_reader_bytes(table.memory_bytes);
  set_keys(options, reader_bytes, executor, table);
  return open_arrow(std::move(stream), table, options.shape, reader_bytes, executor);
}

InputReading decide_reading(const std::vector<std::string>& names, const std::vector<KeyedMode>& keyed,
                            const ColumnOptions& columns) {
  InputReading reading;
  reading.columns = columns.modes;
  reading.missing = columns.missing == Missing::skip ? "skip" : columns.missing_key;
  if (!columns.labels_from.empty()) {
    const auto [known_names, known] = read_known_reading(columns.labels_from);
    if (reading.missing.empty()) reading.missing = known.missing;
    reading.duplicates = known.duplicates;
    for (std::size_t n = 0; n < keyed.size() && !known.columns.empty(); ++n) {
      const auto at = static_cast<std::size_t>(std::ranges::find(known_names, names[n]) - known_names.begin());
      const bool is_known = keyed[n].bins > 0 || (keyed[n].has_keys && keyed[n].new_labels == 0);
      if (is_known && at < known.columns.size()) reading.columns[n] = known.columns[at];
    }
  }
  for (std::size_t n = 0; n < keyed.size(); ++n) {
    if (keyed[n].is_local && !is_local(reading.columns[n])) reading.columns[n] += local_ending;
  }
  if (reading.columns == names) reading.columns.clear();
  return reading;
}

std::unique_ptr<CoordinateReader> open_entries(const fs::path& input, const IngestOptions& options,
                                               const KnownTensor& known, Executor& executor) {
  const bool is_table = !options.columns.modes.empty() || is_table_name(input);
  if (!is_table && is_any_set(options.columns)) {
    refuse(option_name("columns.value") + ", " + option_name("columns.separator") + ", " +
           option_name("columns.decimal") + ", " + option_name("columns.quotes") + ", " +
           option_name("columns.missing") + ", " + option_name("columns.null_words") + " and " +
           option_name("columns.names") + " apply to tables, but " + input.string() +
           " is none by its name; leave them out, or name the columns of its modes with " +
           option_name("columns.modes"));
  }
  const InputKind kind = kind_of(input);
  if (kind == InputKind::text) {
    return is_table ? open_known_columns(input, options, known, executor)
                    : open_known_text(input, options, known, executor);
  }
  refuse_text_options(input.string(), options);
  const std::size_t order = known.mode_names.size();
  std::vector<std::unique_ptr<CooSource>> sources;
  sources.push_back(kind == InputKind::npz ? open_npz(input, order) : open_hdf5_coo(input, order));
  auto reader = open_arrays(std::move(sources), options, executor);
  if (known.without_values && reader->has_values())
    refuse(input.string() + " holds arrays with values; leave out " + option_name("without_values"));
  return reader;
}

std::uint64_t max_known_key_bytes(std::span<const LabelSizes> labels) {
  std::uint64_t bytes = 0;
  for (const LabelSizes& mode : labels) bytes += KeyDictionary::max_memory_bytes(mode.count, mode.text_bytes);
  return bytes;
}

std::uint64_t min_entry_reader_bytes(int threads) {
  const std::size_t smallest_block = plan_block_bytes(0, 1, 1);
  return csv_reader_bytes(smallest_block, threads, true);
}

}  // namespace blco
