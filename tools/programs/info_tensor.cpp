// Prints a tensor as text: its shape and sizes, and histograms of its values and slices.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tools/programs/cli.hpp"
#include "tools/programs/info.hpp"
#include "tools/programs/info_rows.hpp"

namespace blco::info {
namespace {

constexpr std::size_t max_bars = 24;

void print_column(const char* name, const TensorColumn& column, std::uint64_t nnz) {
  const std::string streamed = cli::format_bits(column.streamed_bytes, nnz);
  fmt::print("{:<12}{:>9}{:>9}{:>10}\n", name, cli::format_bits(column.stored_bytes, nnz), streamed, streamed);
}

TensorColumn sum(const TensorColumn& a, const TensorColumn& b) {
  return {a.stored_bytes + b.stored_bytes, a.streamed_bytes + b.streamed_bytes};
}

// Merges pairs of neighbours whose bounds have the same sign into larger buckets, until there are few enough.
std::vector<ValueBucket> merge_buckets(std::vector<ValueBucket> buckets) {
  for (int step = 2; buckets.size() > max_bars; step *= 2) {
    std::vector<ValueBucket> merged;
    for (const ValueBucket& bucket : buckets) {
      if (bucket.lower == 0) {
        merged.push_back(bucket);
        continue;
      }
      const int place = std::ilogb(bucket.lower);
      // No double is smaller than 2^-1074.
      const int start = std::max(place - ((place % step) + step) % step, -1074);
      const ValueBucket wide{std::copysign(std::ldexp(1.0, start), bucket.lower),
                             std::copysign(std::ldexp(1.0, start + step), bucket.lower), bucket.count};
      if (!merged.empty() && merged.back().lower == wide.lower) {
        merged.back().count += wide.count;
      } else {
        merged.push_back(wide);
      }
    }
    buckets = std::move(merged);
  }
  return buckets;
}

std::string bucket_label(const ValueBucket& bucket) {
  if (bucket.lower == 0) return "0";
  return fmt::format("{} {:.4g}", bucket.lower > 0 ? "from" : "to", bucket.lower);
}

void print_values(const ValueStatistics& values) {
  print_row("values",
            fmt::format("{:.6g} to {:.6g}, mean {:.6g}; {}{} distinct; {}", values.minimum, values.maximum, values.mean,
                        values.more_distinct ? "more than " : "", cli::format_count(values.distinct),
                        values.whole_numbers ? "all whole numbers" : "not all whole numbers"));
  std::vector<Bar> bars;
  for (const ValueBucket& bucket : merge_buckets(values.histogram))
    bars.push_back({bucket_label(bucket), bucket.count});
  print_bars(bars);
}

void print_slices(const std::string& name, const SliceStatistics& mode) {
  fmt::print("{}: nonzeros per slice {} to {}, median {:g}, mean {:.6g}; {} of {} slices empty ({:.1f}%)\n", name,
             cli::format_count(mode.minimum), cli::format_count(mode.maximum), mode.median, mode.mean,
             cli::format_count(mode.empty), cli::format_count(mode.slices),
             100 * static_cast<double>(mode.empty) / static_cast<double>(mode.slices));
  std::vector<Bar> bars;
  for (const SliceBucket& bucket : mode.histogram) {
    const std::string min = cli::format_count(bucket.min);
    const std::string max = cli::format_count(bucket.max);
    bars.push_back({bucket.min == bucket.max ? min : fmt::format("{}-{}", min, max), bucket.slices});
  }
  print_bars(bars);
}

}  // namespace

std::string mode_name(const std::vector<std::string>& names, std::size_t mode) {
  return mode < names.size() ? names[mode] : fmt::format("mode {}", mode);
}

double density(const TensorSummary& summary) {
  double share = static_cast<double>(summary.nnz);
  for (const std::uint64_t length : summary.shape) share /= static_cast<double>(length);
  return share;
}

double bytes_per_nonzero(const TensorSummary& summary) {
  return static_cast<double>(summary.file_bytes) / static_cast<double>(summary.nnz);
}

void print_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names,
                 const std::vector<std::uint64_t>& label_bytes) {
  print_row("shape", cli::format_shape(shape));
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const bool labelled = n < label_bytes.size() && label_bytes[n] > 0;
    fmt::print(
        "  mode {:<5}{}{}{}\n", n, cli::format_count(shape[n]), n < names.size() ? fmt::format("  {}", names[n]) : "",
        labelled ? fmt::format("  {} labels, {}", cli::format_count(shape[n]), cli::format_bytes(label_bytes[n])) : "");
  }
}

void print_bars(const std::vector<Bar>& bars) {
  constexpr double widest = 40;
  std::size_t label_width = 0;
  std::size_t count_width = 0;
  std::uint64_t max = 1;
  std::uint64_t total = 0;
  for (const Bar& bar : bars) {
    label_width = std::max(label_width, bar.label.size());
    count_width = std::max(count_width, cli::format_count(bar.count).size());
    max = std::max(max, bar.count);
    total += bar.count;
  }
  for (const Bar& bar : bars) {
    // Rounds up, so that every nonzero count is visible.
    const double length = std::ceil(widest * static_cast<double>(bar.count) / static_cast<double>(max));
    const std::string line =
        fmt::format("  {:>{}}  {:>{}} {:5.1f}%  {}", bar.label, label_width, cli::format_count(bar.count), count_width,
                    100 * static_cast<double>(bar.count) / static_cast<double>(std::max<std::uint64_t>(total, 1)),
                    std::string(static_cast<std::size_t>(length), '#'));
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

void print_tensor(const std::filesystem::path& path, const TensorSummary& summary,
                  const std::optional<TensorStatistics>& statistics) {
  print_row("tensor", path.string());
  print_modes(summary.shape, summary.mode_names, summary.label_bytes);
  if (!summary.value_name.empty()) print_row("value name", summary.value_name);
  if (!summary.relabelled_modes.empty()) {
    print_row("relabelled", cli::format_modes(summary.relabelled_modes, summary.shape.size()));
  }
  print_row("nonzeros", cli::format_count(summary.nnz));
  print_row("density", fmt::format("{:.3g}", density(summary)));
  print_row("norm", fmt::format("{:.6g}", std::sqrt(summary.sum_of_squares)));
  print_row("line bits", summary.line_bits);
  print_row("chunks", fmt::format("{} of up to {} nonzeros", cli::format_count(summary.chunk_count),
                                  cli::format_count(summary.chunk_nnz)));
  print_row("file", fmt::format("{}, {:.2f} bytes per nonzero", cli::format_bytes(summary.file_bytes),
                                bytes_per_nonzero(summary)));

  const TensorColumn index = sum(summary.index, summary.key);
  fmt::print("\n{:<12}{:>9}{:>9}{:>10}   bits per nonzero\n", "", "stored", "cached", "streamed");
  print_column("index", index, summary.nnz);
  if (summary.key.streamed_bytes != 0) print_column("  its key", summary.key, summary.nnz);
  print_column("value", summary.value, summary.nnz);
  print_column("both", sum(index, summary.value), summary.nnz);
  if (!statistics) return;

  fmt::print("\n");
  print_values(statistics->values);
  for (std::size_t n = 0; n < statistics->modes.size(); ++n) {
    fmt::print("\n");
    const std::string name = mode_name(summary.mode_names, n);
    print_slices(n < summary.mode_names.size() ? fmt::format("mode {} {}", n, name) : name, statistics->modes[n]);
  }
}

}  // namespace blco::info
