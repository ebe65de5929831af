// What a model says of entries: its values, residuals and deviances.
#pragma once

#include <blco/error.hpp>
#include <blco/export_text.hpp>
#include <blco/ingest.hpp>
#include <blco/loss.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/tensor.hpp>
#include <blco/views.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace blco {

// A model in memory, which has a name and outlives the call, or the file of one, or of a Tucker model, whose loss is
// gaussian. A file is loaded once the sizes that it states are known to fit the memory; then calls also throw Error as
// load_model() does.
using ModelSource = std::variant<std::reference_wrapper<const CpdModel>, std::filesystem::path>;

struct PredictOptions {
  std::optional<Loss> loss = {};  // of the deviances; nothing: that of the model
  // Above 0: only so many entries, those with the largest deviances, by falling deviance and then in input order.
  // Entries without a deviance are not among them.
  std::uint64_t top = 0;
  bool skip_unknown = false;    // leaves out entries whose index or label the model does not have; else they are errors
  bool without_values = false;  // lines of coordinate text hold coordinates alone
  // For a table: modes are the columns of the model's modes, in the order of the model; empty: as the model records
  // them (InputReading), else the columns with the names of its modes, for a .csv or .tsv. Missing::error stands for
  // what the model records, if anything. Without a value column there are no residuals. labels_from and skip_unknown
  // are not read.
  ColumnOptions columns = {};
  // Takes each entry of an input by itself. Otherwise entries of equal coordinates become one, as for the tensor of the
  // model (InputReading::duplicates), and entries come in the order of a container.
  bool each_entry = false;
  std::filesystem::path temporary_directory = {};  // for entries beyond memory_bytes; empty: the output's, or "."
  int index_base = 1;                              // smallest coordinate in text that is read or written: 0 or 1
  std::uint64_t skip_lines = 0;                    // header lines to skip at the start of text
  std::uint64_t memory_bytes = 0;                  // of the whole job, the model included; 0: 80% of what is available
  int threads = 0;                                 // 0: one per processor
  std::string model_name = "the model";            // what messages call it
};

// Some entries in order. Spans are valid during the call that passes them.
struct PredictionBlock {
  int order = 0;
  std::span<const std::uint64_t> coordinates;  // n x order, row-major, from 0
  std::span<const double> values = {};         // n, the entries x; empty: the input has none
  std::span<const double> model;               // n, the model's values m
  std::span<const double> deviances = {};      // n, the deviances, NaN where there is none; empty as `values`
};

// Calls never overlap. An exception that it throws ends the job and is rethrown. May be empty: for the summary alone.
using PredictionSink = std::function<void(const PredictionBlock&)>;

// Over all entries that the model knows, whatever `top` is. Sums are added in the order of the input, and so do not
// depend on threads or memory.
struct PredictSummary {
  std::string input_format = {};  // "CSV", "BLCO container", ...; empty for a tensor in memory
  std::uint64_t entries = 0;      // with a model's value
  // Where several input entries became one: how many there were, and by which policy; else 0.
  std::uint64_t folded_entries = 0;
  DuplicatePolicy duplicates = DuplicatePolicy::sum;
  // Where each entry with a value stays by itself: about how many repeat the coordinates of an earlier one, exact for
  // up to 8192 cells.
  std::uint64_t repeated_entries = 0;
  std::uint64_t unknown_entries = 0;               // left out by skip_unknown
  std::vector<SkippedRowCount> skipped_rows = {};  // left out by columns.missing
  std::uint64_t written_entries = 0;               // passed to the sink: `entries`, or at most `top`
  double min_model = std::numeric_limits<double>::infinity();
  double max_model = -std::numeric_limits<double>::infinity();

  // From here on: only where the entries have values.
  bool has_values = false;
  Loss loss = {};
  double sum_of_squares = 0;     // of residuals
  double sum_of_magnitudes = 0;  // of residuals
  double min_residual = std::numeric_limits<double>::infinity();
  double max_residual = -std::numeric_limits<double>::infinity();
  double sum_of_deviances = 0;
  double max_deviance = 0;
  std::uint64_t impossible_entries = 0;        // whose deviance is infinite
  std::uint64_t entries_without_deviance = 0;  // zeros that the loss does not take

  double rmse() const { return entries == 0 ? 0 : std::sqrt(sum_of_squares / static_cast<double>(entries)); }
  double mean_absolute_error() const { return entries == 0 ? 0 : sum_of_magnitudes / static_cast<double>(entries); }
};

// The model's value of an entry i is m = sum_r w_r prod_n A_n[i_n, r], for weights w and factors A_n (Kolda & Bader
// 2009, section 3); the residual of its value x is x - m. The deviance compares the model with one that fits this
// entry alone: it is 2 (f(x, m) - f(x, best m for x)) for the loss f (McCullagh & Nelder
// 1989, section 2.3). For gaussian and huber it is the loss itself: (x - m)^2 is the deviance for a variance of 1,
// because the negative log-likelihood is half of that. With M = m + e, where e is 1e-10, as in <blco/loss.hpp>, times
// the unit in which the fit saw the values: where m is a size, the first power of two that is at least the root mean
// square of the nonzeros of the fitted tensor (tensor_sum_of_squares / tensor_nnz is its square); otherwise, and where
// the model does not have these numbers, 1:
//
//   loss             deviance                                              best m
//   gaussian         (x - m)^2                                             x
//   huber:D          (x - m)^2; beyond a distance d = D, 2 D d - D^2       x
//   poisson          2 (x log(x/M) - x + M); for x = 0, 2 m                x
//   poisson-log      the same with M = exp(m)                              log x
//   bernoulli-odds   2 log(1 + m) for x = 0, 2 log((1 + m)/M) for x = 1    0; infinite
//   bernoulli-logit  2 log(1 + exp(m)), or for x = 1 of -m                 -infinite; infinite
//   gamma            2 (x/M - 1 - log(x/M))                                x
//   rayleigh         2 (q^2 - 1 - 2 log q), q = x sqrt(pi)/(2 M)           x sqrt(pi)/2
//   beta:B           2 (M^B/B - x M^(B-1)/(B-1) + x^B/(B(B-1)))            x
//
// It is 0 where the model fits the entry, and infinite where m is below 0 and the loss does not take that. An entry of
// 0 has no deviance if the loss takes only numbers above 0: no m is the best for it. A fit takes such an entry as it
// takes cells that are not listed, so it has a model's value and a residual.

// Of entries in a file: a container, in its stored order, or an input of ingest_files() (text, a table with the model's
// labels, arrays, a pipe), in the order of the input, where each line or row is an entry by itself (see each_entry). A
// container that has labels is matched with the model by labels, otherwise by its own (not the stored) indices. Passes
// blocks of entries to the sink. Memory: within options.memory_bytes, of which the model, a table's or container's
// labels and `top` entries of 8 N + 40 bytes are the largest parts. Throws Error: invalid_argument (a model whose sizes
// disagree; another number of modes; an index or label that the model does not have, naming the line; a value that the
// loss does not take; otherwise bad input as ingest_files() says; `top` without values), out_of_memory (naming a budget
// that suffices), io, corrupt, cancelled (by `progress`).
PredictSummary predict(const ModelSource& model, const std::filesystem::path& entries, const PredictionSink& sink,
                       const PredictOptions& options = {}, const ProgressCallback& progress = {});

// Of the nonzeros of a tensor, in its stored order.
PredictSummary predict(const ModelSource& model, const Tensor& entries, const PredictionSink& sink,
                       const PredictOptions& options = {}, const ProgressCallback& progress = {});

// Of cells in memory: per mode the n indices from 0, as in CoordinateArrays. Returns the n values of the model. Throws
// Error{invalid_argument} for a model whose sizes disagree, for other than one view per mode, all of one length, and
// for the first cell that lies outside of its shape.
std::vector<double> predict(const CpdModel& model, std::span<const IndexView> coordinates, int threads = 0);

// Writes a table: a header, then per entry its labels (or coordinates from index_base), and the columns "value",
// "model", "residual" and "deviance", or "model" alone where there are no values; underscores are appended to a
// name that a mode has. Numbers have the shortest form that reads back as the same double, whole ones below 2^53 as
// integers; an infinite deviance is "inf". Where there is no deviance
// the field is empty. Fields are quoted where needed (RFC 4180), and lines end in LF.
// The sink receives whole lines in order. `format`: csv or tsv. Throws as predict() does.
PredictSummary write_predictions(const ModelSource& model, const std::filesystem::path& entries, const TextSink& sink,
                                 TextFormat format, const PredictOptions& options = {},
                                 const ProgressCallback& progress = {});

// The same into a file, whose name ends in .csv or .tsv, optionally followed by .gz or .zst, else
// Error{invalid_argument}. It appears, or replaces an older one, only when it is complete. Also throws Error{io}.
PredictSummary write_predictions(const ModelSource& model, const std::filesystem::path& entries,
                                 const std::filesystem::path& output, const PredictOptions& options = {},
                                 const ProgressCallback& progress = {});

}  // namespace blco
