// Chooses a reader by the options, the names and the magic bytes of the files.
#include "engine/ingest/open_input.hpp"

#include <algorithm>
#include <array>
#include <blco/tensor_file.hpp>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/memory.hpp"
#include "engine/ingest/ingest_plan.hpp"
#include "io/arrays/coo_reader.hpp"
#include "io/arrays/hdf5_coo_reader.hpp"
#include "io/arrays/npz_reader.hpp"
#include "io/text/csv_reader.hpp"
#include "io/text/tns_reader.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

enum class InputKind { text, npz, hdf5 };

// A pipe is text: what is read from it now would be missing later.
InputKind kind_of(const fs::path& input) {
  constexpr std::string_view zip = "PK\x03\x04";
  constexpr std::string_view empty_zip = "PK\x05\x06";
  constexpr std::string_view hdf5 = "\x89HDF\r\n\x1a\n";
  const fs::path file = split_hdf5_group(input).first;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return InputKind::text;
  std::array<char, hdf5.size()> bytes{};
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), bytes.size());
  const std::string_view head(bytes.data(), static_cast<std::size_t>(stream.gcount()));
  if (head == hdf5) return InputKind::hdf5;
  return head.starts_with(zip) || head.starts_with(empty_zip) ? InputKind::npz : InputKind::text;
}

bool is_csv(const fs::path& file) {
  std::string name = file.filename().string();
  for (const std::string compression : {".gz", ".zst"}) {
    if (name.ends_with(compression)) name.resize(name.size() - compression.size());
  }
  return name.ends_with(".csv") || name.ends_with(".tsv");
}

// Returns those of the modes that are asked for, by their names.
std::function<std::vector<Labels>(const std::vector<std::string>&)> known_labels(const ColumnOptions& columns) {
  if (columns.labels_from.empty()) return {};
  const TensorFile file(columns.labels_from);
  std::vector<Labels> labels = file.labels();
  if (labels.empty())
    refuse(columns.labels_from.string() + " has no labels; give a container that was ingested with " +
           option_name("columns.modes"));
  return [labels = std::move(labels), have = file.summary().mode_names,
          from = columns.labels_from](const std::vector<std::string>& names) {
    std::vector<Labels> known;
    for (const std::string& name : names) {
      const auto mode = static_cast<std::size_t>(std::ranges::find(have, name) - have.begin());
      if (mode == have.size()) {
        refuse(from.string() + " has no mode '" + name + "' to take labels from; its modes are " + list_columns(have));
      }
      known.push_back(labels[mode]);
    }
    return known;
  };
}

std::unique_ptr<CoordinateReader> open_columns(const std::vector<fs::path>& inputs, const IngestOptions& options,
                                               Executor& executor) {
  if (!options.shape.empty())
    refuse(option_name("shape") +
           " does not apply to CSV input, where the length of a mode is the number of its keys; leave it out");
  if (options.index_base != 1)
    refuse(option_name("index_base") + " does not apply to CSV input, whose keys are not coordinates; leave it out");
  CsvOptions csv;
  csv.columns = {options.columns.modes, options.columns.value};
  csv.separator = options.columns.separator;
  csv.skip_lines = options.skip_lines;
  csv.memory_bytes = host_budget(options.memory_bytes);
  csv.block_bytes = plan_block_bytes(csv.memory_bytes, csv.block_bytes, csv_reader_bytes(1, executor.width()));
  csv.key_bytes = max_key_bytes(csv.memory_bytes);
  csv.mode_names = options.mode_names;
  csv.known = known_labels(options.columns);
  return open_csv(inputs, csv, executor);
}

std::unique_ptr<CoordinateReader> open_text(const std::vector<fs::path>& inputs, const IngestOptions& options,
                                            Executor& executor) {
  if (const auto csv = std::ranges::find_if(inputs, is_csv); csv != inputs.end()) {
    refuse(csv->string() + " is CSV by its name; name the columns that become modes with " +
           option_name("columns.modes") + ", and the column of values, if there is one, with " +
           option_name("columns.value") +
           "; its columns are: " + list_columns(read_csv_columns(*csv, options.columns.separator, options.skip_lines)));
  }
  TnsOptions tns{options.index_base, options.skip_lines};
  tns.block_bytes =
      plan_block_bytes(host_budget(options.memory_bytes), tns.block_bytes, tns_reader_bytes(1, executor.width()));
  return open_tns(inputs, tns, executor);
}

}  // namespace

std::unique_ptr<CoordinateReader> open_input(const std::vector<fs::path>& inputs, const IngestOptions& options,
                                             Executor& executor) {
  const ColumnOptions& columns = options.columns;
  if (columns.modes.empty() && (!columns.value.empty() || columns.separator != 0 || !columns.labels_from.empty())) {
    refuse(option_name("columns.value") + ", " + option_name("columns.separator") + " and " +
           option_name("columns.labels_from") + " require " + option_name("columns.modes") +
           ", which names the columns that become modes");
  }
  std::vector<InputKind> kinds;
  for (const fs::path& input : inputs) kinds.push_back(kind_of(input));
  const auto text = std::ranges::find(kinds, InputKind::text);
  const auto arrays = std::ranges::find_if(kinds, [](InputKind kind) { return kind != InputKind::text; });
  if (arrays == kinds.end()) {
    return columns.modes.empty() ? open_text(inputs, options, executor) : open_columns(inputs, options, executor);
  }
  const auto name_of = [&](auto kind) { return inputs[static_cast<std::size_t>(kind - kinds.begin())].string(); };
  if (!columns.modes.empty()) {
    refuse(name_of(arrays) + " holds arrays, not CSV; leave out " + option_name("columns.modes"));
  }
  if (text != kinds.end()) {
    throw Error(ErrorKind::invalid_argument, name_of(arrays) + " holds arrays, but " + name_of(text) +
                                                 " is text; the files of one tensor must be all text or all arrays");
  }
  if (options.skip_lines != 0) {
    throw Error(ErrorKind::invalid_argument,
                name_of(arrays) + " holds arrays and has no lines to skip; leave out " + option_name("skip_lines"));
  }
  std::vector<std::unique_ptr<CooSource>> sources;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    sources.push_back(kinds[i] == InputKind::npz ? open_npz(inputs[i]) : open_hdf5_coo(inputs[i]));
  }
  return make_coo_reader(std::move(sources), max_reader_bytes(host_budget(options.memory_bytes)), executor);
}

}  // namespace blco
