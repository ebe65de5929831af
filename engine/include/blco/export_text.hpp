// Exports tensors as text.
#pragma once

#include <blco/progress.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

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

}  // namespace blco
