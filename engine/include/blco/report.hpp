// A model or a tensor as one page of HTML, to be read in a browser: how the fit went, and what each component or column
// consists of; or where the nonzeros of a tensor lie.
#pragma once

#include <blco/export_text.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/starts.hpp>
#include <blco/tensor.hpp>
#include <blco/tucker_model.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>

namespace blco {

struct ReportOptions {
  std::string title = {};  // empty: what it is
  // Components of largest share; for a Tucker model, numbers of the core, 20 unless this says otherwise.
  std::size_t components = std::numeric_limits<std::size_t>::max();
  std::size_t entries = 10;  // per mode of a component, per column of a Tucker model, and per mode of a tensor, at most
  int index_base = 1;        // names the first index of a mode without labels
  // The tensor of the fit, for the lift of each entry: its share of the magnitudes of its column over its index's share
  // of the magnitudes of the tensor's values. 1: as common in the component as in the tensor. Also for outliers: the
  // leverage of each row of each mode, a (A^T A)^+ a^T for the row a of the factor A, and its residual, the part of its
  // slice in |X - model|^2; not where the model has logarithms or odds. Null: neither.
  const Tensor* tensor = nullptr;  // of CP models alone
  // The starts of the fit_starts() whose best is the model, for a matrix of how well each start has the components;
  // empty: none.
  std::span<const StartReport> starts = {};
  std::uint64_t memory_bytes = 0;  // of a pass over a tensor, see PredictOptions; of a tensor's page NonzeroOptions
  int threads = 0;
};

// Writes the page: UTF-8, without scripts, styles or pictures of others. A script in it draws the numbers, which lie in
// the page as JSON; what comes from data is text there and never HTML, and long labels are shortened. Components come
// by falling share, first all of them in a table. A mode whose labels are ordered (times, intervals, numbers) is a line
// of up to 200 points, each the entry of largest magnitude of its part; so is one without labels of up to 1000 indices;
// the others are bars. Plots of a mode share one scale. Memory: a component's part of the JSON, some 20 KB a mode; with
// a tensor, beside memory_bytes, 16 bytes per index of each mode, 40 more per index of the longest, and R^2 numbers for
// each mode and one more, at least six times; then up to 2 MB a mode for the dots of its outliers. Throws Error:
// invalid_argument (sizes of the model that disagree; a tensor of another shape or other labels), and as predict()
// does.
void write_report(const CpdModel& model, const TextSink& sink, const ReportOptions& options = {},
                  const ProgressCallback& progress = {});

// The same into a file, which appears, or replaces an older one, only when it is complete; from the beginning of the
// call no other job can write it. Also throws Error{io}.
void write_report(const CpdModel& model, const std::filesystem::path& output, const ReportOptions& options = {},
                  const ProgressCallback& progress = {});

// The same of a Tucker model: its core, and all columns of each mode. `tensor` must be null.
void write_report(const TuckerModel& model, const TextSink& sink, const ReportOptions& options = {});
void write_report(const TuckerModel& model, const std::filesystem::path& output, const ReportOptions& options = {});

// The same of a tensor: a histogram of its values and, along each mode, its nonzeros, the density of its fullest slice,
// and the sums of the values. `tensor` must be null. Reads the tensor several times, as measure_statistics() and
// for_each_nonzero() do, and throws as they do. Memory: memory_bytes, of which 16 bytes per index of each mode.
void write_report(const Tensor& tensor, const TextSink& sink, const ReportOptions& options = {},
                  const ProgressCallback& progress = {});
void write_report(const Tensor& tensor, const std::filesystem::path& output, const ReportOptions& options = {},
                  const ProgressCallback& progress = {});

}  // namespace blco
