// Exports tensors as text, and models as tables and NumPy arrays or text.
#pragma once

#include <blco/error.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/tensor_file.hpp>
#include <blco/tucker.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

// FROSTT text, or a table with a header, its fields separated by comma (csv) or tab (tsv) and quoted where needed (RFC
// 4180).
enum class TextFormat { tns, csv, tsv };

struct TextOptions {
  int index_base = 1;  // smallest coordinate in the text: 0 or 1
  int threads = 0;     // 0: one per processor
  TextFormat format = TextFormat::tns;
  // The nonzeros of each chunk in the order of this mode, by its name or number from 0, of which the tensor must have a
  // copy unless the natural order is its order. Empty: in the natural order.
  std::string order_of = {};
};

struct TextReport {
  std::uint64_t nnz = 0;         // lines
  std::uint64_t text_bytes = 0;  // before compression
};

// Receives the text in order, in whole lines. Calls never overlap but may come from any thread. An exception that it
// throws ends the export and is rethrown on the caller's thread.
using TextSink = std::function<void(std::string_view)>;

// Writes one line per nonzero, its coordinates and its value, in an order of the container. Reordered modes have their
// original coordinates in the text, while the lines follow the order of the stored indices.
// A table has a header: the mode names, and the name of the column that the values came from or "value" (with
// underscores appended if a mode has that name). Labels replace coordinates where a mode has them; such a table,
// ingested again with labels_from, gives the same container. Whole
// values below 2^53 in magnitude are written as integers, others in the shortest form that reads back as the same
// double. The text does not hold the shape: pass trailing empty slices to blco-ingest by --shape.
// Memory: one chunk, its compressed form, the labels, up to 60 MB of text (more for long labels), and 4 bytes per index
// of each reordered mode. Throws Error: invalid_argument (index_base, threads), corrupt (naming file and chunk),
// cancelled.
TextReport export_text(const Tensor& tensor, const TextSink& sink, const TextOptions& options = {},
                       const ProgressCallback& progress = {});

// Writes the same text to a file. The name decides the format: it ends in .tns, .csv or .tsv, optionally followed by
// .gz or .zst, else Error{invalid_argument}. The file appears, or replaces an older one, only when it is complete. Also
// throws Error{io}.
TextReport export_text(const Tensor& tensor, const std::filesystem::path& output, const TextOptions& options = {},
                       const ProgressCallback& progress = {});

enum class ArrayFormat { npy, text };

// Writes a model into `folder`, which is created if needed: weights (R), fit_history (one per sweep; omitted if empty),
// and per mode n its factor (I_n x R) as mode0_NAME, or mode0 for a mode without a name. Unsafe characters of a name
// become _. Beside each factor a table with the same numbers: mode0_NAME.csv, whose header has the mode's name (or
// "index"), component_0, component_1, ...; a row has the label, or else the coordinate counted from `index_base`, and
// the numbers. Labels of a mode also go to mode0_NAME.labels.txt, one per line, unless one of them has a line break.
// The arrays are .npy (NumPy, little-endian f64, row-major) or .txt (one row per line, blanks between numbers);
// numpy.loadtxt reads the latter. Numbers in text have the shortest form that reads back as the same double. Existing
// files of these names are replaced once all new ones are complete; an error before that leaves none of the new files.
// Other files in the folder stay.
// Returns the paths: arrays, tables, labels. Throws Error: invalid_argument (sizes that disagree, index_base), io,
// cancelled.
std::vector<std::filesystem::path> export_model(const CpdModel& model, const std::filesystem::path& folder,
                                                ArrayFormat format = ArrayFormat::npy,
                                                const ProgressCallback& progress = {}, int index_base = 1);
// The same of a Tucker model: core (R_1 x ... x R_N; as text a line per choice of all columns but the last mode's),
// fit_history, and per mode its matrix (I_n x R_n) and table, whose columns are column_0, column_1, ...
std::vector<std::filesystem::path> export_model(const TuckerModel& model, const std::filesystem::path& folder,
                                                ArrayFormat format = ArrayFormat::npy,
                                                const ProgressCallback& progress = {}, int index_base = 1);

}  // namespace blco
