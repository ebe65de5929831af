// The page about a tensor.
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
    write_page(sink, head(), modes_, modes_.size(), [&](std::size_t n) { return part(n); });
  }

 private:
  Json head() const {
    const ValueStatistics& values = statistics_.values;
    Json histogram = Json::array();
    for (const ValueBucket& bucket : values.histogram) {
      histogram.push_back(Json::array({bucket.lower, bucket.upper, bucket.count}));
    }
    return {{"kind", "tensor"},
            {"title", options_->title.empty() ? "Tensor" : shortened(options_->title)},
            {"nonzeros", tensor_->nnz()},
            {"norm", std::sqrt(tensor_->summary().sum_of_squares)},
            {"values",
             {{"minimum", values.minimum},
              {"maximum", values.maximum},
              {"mean", values.mean},
              {"whole_numbers", values.whole_numbers},
              {"distinct", values.distinct},
              {"more_distinct", values.more_distinct}}},
            {"histogram", histogram}};
  }

  Json part(std::size_t n) const {
    const SliceStatistics& slices = statistics_.modes[n];
    return {{"empty", slices.empty},
            {"median", slices.median},
            {"mean", slices.mean},
            {"most", slices.maximum},
            {"columns", Json::array({column(modes_[n], sums_[n].nonzeros), column(modes_[n], sums_[n].magnitudes)})}};
  }

  // The numbers along a mode, and the largest.
  Json column(const PageMode& mode, const std::vector<double>& numbers) const {
    const std::size_t most = mode.is_line ? std::min(options_->entries, named_peaks) : options_->entries;
    const double largest = std::ranges::max(numbers);
    Json json{{"largest", largest}, {"whole", std::accumulate(numbers.begin(), numbers.end(), 0.0)}};
    if (mode.is_line) json["points"] = points_of(mode.length, 0, largest, [&](std::size_t i) { return numbers[i]; });
    Json& top = json["top"] = Json::array();
    for (const std::size_t at : largest_places(numbers.size(), most, [&](std::size_t i) { return numbers[i]; })) {
      if (!(numbers[at] > 0)) break;
      top.push_back(Json::array({mode.name_of(at), numbers[at]}));
    }
    return json;
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
                  const ProgressCallback& progress) {
  refuse_inputs_as_outputs({tensor.summary().file}, {output});
  write_page_file(output, [&](const TextSink& sink) { write_report(tensor, sink, options, progress); });
}

}  // namespace blco
