// Out of the library's files again: tensors as text, models as NumPy arrays or text.
#pragma once

#include <blco/error.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

namespace blco {

// FROSTT text, or a table with a header: comma or tab between the fields, which are quoted where they must be (RFC
// 4180).
enum class TextFormat { tns, csv, tsv };

struct TextOptions {
  int index_base = 1;  // the smallest coordinate in the text: 0 or 1
  int threads = 0;     // 0: one per processor
  TextFormat format = TextFormat::tns;
};

struct TextReport {
  std::uint64_t nnz = 0;         // lines
  std::uint64_t text_bytes = 0;  // before compression
};

// Takes the text in order, whole lines at a time, one call after the other but on any thread. What it throws ends the
// export and is thrown on the caller's thread.
using TextSink = std::function<void(std::string_view)>;

// A line of coordinates and value per nonzero, in the order of the container; coordinates are those of the input also
// where modes are relabelled, and then the order is that of their stored numbers. A table has the names of the modes
// and "value" (with underscores behind it where a mode has that name) as its header, and labels in place of the
// coordinates of modes that have some; ingested again with labels_from, it gives the same container. Whole values below
// 2^53 in magnitude are written as such, others in the shortest form that reads back as the same double. The text has
// no shape: trailing empty slices are told to blco-ingest by --shape. Memory: one chunk, its compressed form, the
// labels, up to 60 MB of text, more where labels are long, and 4 bytes per index of each relabelled mode. Throws Error:
// invalid_argument (index_base, threads), corrupt (file and chunk), cancelled.
TextReport export_text(const TensorFile& tensor, const TextSink& sink, const TextOptions& options = {},
                       const ProgressCallback& progress = {});

// The same into a file named .tns, .csv or .tsv, or so and .gz or .zst (else Error{invalid_argument}), which tells the
// format; it appears, or replaces another, when it is whole. Throws Error{io} too.
TextReport export_text(const TensorFile& tensor, const std::filesystem::path& output, const TextOptions& options = {},
                       const ProgressCallback& progress = {});

enum class ArrayFormat { npy, text };

// Writes into `folder`, which is made if it is not there: weights (R), fit_history (one per sweep; left out where there
// is none), and per mode n its factor (I_n x R), as mode0_NAME where the mode has a name and mode0 otherwise, letters
// of a name that do not belong in one replaced by _. Ending .npy (NumPy, little-endian f64, row-major), or .txt (a row
// a line, blanks between, shortest form that reads back as the same double; numpy.loadtxt takes it). Files of these
// names are replaced when all are whole; on an error before that nothing is left, and other files in the folder stay.
// The labels of a mode go into mode0_NAME.labels.txt, a line each. Returns the names in that order. Throws Error:
// invalid_argument (sizes that disagree), io, cancelled.
std::vector<std::filesystem::path> export_model(const CpdModel& model, const std::filesystem::path& folder,
                                                ArrayFormat format = ArrayFormat::npy,
                                                const ProgressCallback& progress = {});

}  // namespace blco
