// Writes what is in a tensor as one page of HTML.
#include <algorithm>
#include <blco/nonzeros.hpp>
#include <blco/report.hpp>
#include <blco/statistics.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_callable.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/memory.hpp"
#include "engine/model/factor_columns.hpp"
#include "engine/report/report_page.hpp"

namespace blco {
namespace {

// Beyond what any budget holds.
constexpr std::uint64_t most_indices = std::uint64_t{1} << 56;

// Per index of a mode.
struct SliceSums {
  std::vector<double> nonzeros;
  std::vector<double> magnitudes;  // sums of the values without their signs
};

// And of the order of the longest mode's slices.
std::uint64_t bytes_of_sums(const std::vector<std::uint64_t>& shape) {
  std::uint64_t bytes = std::min(std::ranges::max(shape), most_indices) * sizeof(std::uint64_t);
  for (const std::uint64_t length : shape) {
    const std::uint64_t left = std::numeric_limits<std::uint64_t>::max() - bytes;
    bytes += length > left / (2 * sizeof(double)) ? left : length * 2 * sizeof(double);
  }
  return bytes;
}

class TensorReport {
 public:
  TensorReport(const Tensor& tensor, const ReportOptions& options, const ProgressCallback& progress)
      : tensor_(&tensor), options_(&options) {
    if (options.tensor != nullptr) refuse("lift is told of CP models alone; leave out the tensor");
    modes_ = page_modes(tensor.shape(), tensor.summary().mode_names, tensor.labels(), options.index_base);
    const std::uint64_t budget = host_budget(options.memory_bytes);
    const std::uint64_t bytes = bytes_of_sums(tensor.shape());
    if (bytes >= budget) {
      throw Error(ErrorKind::out_of_memory, "the sums of all slices of the tensor take " + format_bytes(bytes) +
                                                " of memory, but the budget is " + format_bytes(budget) +
                                                "; give more than that with " + option_name("memory_bytes"));
    }
    statistics_ = measure_statistics(tensor, {.host_bytes = options.memory_bytes}, options.threads, progress);
    for (const std::uint64_t length : tensor.shape()) {
      sums_.push_back({std::vector<double>(length), std::vector<double>(length)});
    }
    const auto visit = [&](const NonzeroBlock& block) {
      for (std::size_t n = 0; n < sums_.size(); ++n) {
        for (std::size_t i = 0; i < block.count(); ++i) {
          sums_[n].nonzeros[block.coordinates[n][i]] += 1;
          sums_[n].magnitudes[block.coordinates[n][i]] += std::abs(block.values[i]);
        }
      }
      return true;
    };
    try {
      for_each_nonzero(tensor, visit, {.memory_bytes = budget - bytes, .threads = options.threads}, progress);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory) throw;
      throw Error(error.kind(), error.what() + (", and " + format_bytes(bytes)) + " more for the sums of all slices");
    }
  }

  void write(const TextSink& sink) const {
    const ValueStatistics& values = statistics_.values;
    double cells = 1;
    for (const std::uint64_t length : tensor_->shape()) cells *= static_cast<double>(length);
    PageFacts facts;
    facts.add_shape("shape", tensor_->shape(), modes_);
    facts.add("nonzeros", std::to_string(tensor_->nnz()));
    facts.add("density", rounded(static_cast<double>(tensor_->nnz()) / cells, 3));
    facts.add("norm", rounded(std::sqrt(tensor_->summary().sum_of_squares), 6));
    facts.add("values", "from " + rounded(values.minimum, 6) + " to " + rounded(values.maximum, 6) + ", mean " +
                            rounded(values.mean, 6) + (values.whole_numbers ? ", whole numbers" : "") + "; " +
                            (values.more_distinct ? "more than " : "") + std::to_string(values.distinct) + " distinct");
    const std::string guide =
        "A slice has all cells with one index of a mode. Of each mode: the nonzeros of its slices, and the sums of "
        "their "
        "values without signs, each with its share of the whole tensor. The density is the share of cells that are "
        "nonzeros.";
    sink(page_start(options_->title.empty() ? "Tensor" : options_->title, facts.list(), guide, "parts", true));
    sink(histogram());
    for (std::size_t n = 0; n < modes_.size(); ++n) {
      sink(card(n, cells / static_cast<double>(tensor_->shape()[n])));
    }
    sink(page_end());
  }

 private:
  std::string histogram() const {
    const std::vector<ValueBucket>& buckets = statistics_.values.histogram;
    const auto most = static_cast<double>(std::ranges::max(buckets, {}, &ValueBucket::count).count);
    std::string list = "<article id=\"values\">\n<h2>Values</h2>\n<ol>\n";
    for (const ValueBucket& bucket : buckets) {
      const std::string near = rounded(bucket.lower, 6);  // to zero
      const std::string far = rounded(bucket.upper, 6);
      const std::string range = bucket.lower < 0 ? "(" + far + ", " + near + "]" : "[" + near + ", " + far + ")";
      const auto count = static_cast<double>(bucket.count);
      list += bar_row(bucket.lower == 0 ? near : range, count / most, bucket.lower < 0, short_number(count),
                      "<em>" + percent(count / static_cast<double>(tensor_->nnz())) + "</em>");
    }
    return list + "</ol>\n</article>\n";
  }

  std::string card(std::size_t n, double cells_of_slice) const {
    const SliceStatistics& slices = statistics_.modes[n];
    return "<article id=\"mode-" + std::to_string(n) + "\">\n<h2>" + modes_[n].name + " <small>" +
           std::to_string(slices.slices) + " slices, " + std::to_string(slices.empty) +
           " of them empty; nonzeros of a " + "slice: median " + rounded(slices.median, 6) + ", mean " +
           rounded(slices.mean) + ", most " + std::to_string(slices.maximum) + ", a density of " +
           rounded(static_cast<double>(slices.maximum) / cells_of_slice, 3) + "</small></h2>\n<div class=\"modes\">\n" +
           section(n, "Nonzeros", sums_[n].nonzeros) + section(n, "Values", sums_[n].magnitudes) +
           "</div>\n</article>\n";
  }

  // The numbers along a mode, and the largest, each with its share of their sum.
  std::string section(std::size_t n, const char* name, const std::vector<double>& numbers) const {
    const std::size_t most = modes_[n].is_line ? std::min(options_->entries, named_peaks) : options_->entries;
    const std::vector<std::size_t> order =
        largest_places(numbers.size(), most, [&](std::size_t i) { return numbers[i]; });
    const double largest = std::ranges::max(numbers);
    const double whole = std::accumulate(numbers.begin(), numbers.end(), 0.0);
    std::string text = std::string("<section>\n<h3>") + name + "</h3>\n";
    if (modes_[n].is_line) {
      text += line_along(modes_[n], numbers.size(), 0, largest, [&](std::size_t i) { return numbers[i]; });
    }
    text += modes_[n].list_start();
    for (const std::size_t at : order) {
      const double number = numbers[at];
      if (!(number > 0)) break;
      text += bar_row(modes_[n].name_of(at), number / largest, false, short_number(number),
                      "<em>" + percent(number / whole) + "</em>");
    }
    return text + "</ol>\n</section>\n";
  }

  const Tensor* tensor_;
  const ReportOptions* options_;
  std::vector<PageMode> modes_;
  TensorStatistics statistics_;
  std::vector<SliceSums> sums_;
};

}  // namespace

void write_report(const Tensor& tensor, const TextSink& sink, const ReportOptions& options,
                  const ProgressCallback& progress) {
  check_callable(sink, "sink");
  TensorReport(tensor, options, progress).write(sink);
}

void write_report(const Tensor& tensor, const std::filesystem::path& output, const ReportOptions& options,
                  const ProgressCallback& progress, const OutputClaims* claims) {
  refuse_inputs_as_outputs({tensor.summary().file}, {output});
  write_page(output, claims, [&](const TextSink& sink) { write_report(tensor, sink, options, progress); });
}

}  // namespace blco
