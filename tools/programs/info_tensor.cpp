// A tensor as text and as JSON: its shape and sizes, and histograms of its values and slices.
#include <algorithm>
#include <cmath>

#include "tools/programs/info.hpp"

namespace blco::info {
namespace {

using cli::Json;

// Nonzeros per cell.
double density(const TensorSummary& summary) {
  double share = static_cast<double>(summary.nnz);
  for (const std::uint64_t length : summary.shape) share /= static_cast<double>(length);
  return share;
}

// Bytes of the whole file.
double bytes_per_nonzero(const TensorSummary& summary) {
  return static_cast<double>(summary.file_bytes) / static_cast<double>(summary.nnz);
}

constexpr std::size_t max_bars = 24;

struct Bar {
  std::string label;
  std::uint64_t count = 0;
};

// Prints one line per bar: label, count, share of the total, and a bar in proportion to the largest.
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

void print_values(const ValueStatistics& values) {
  print_row("values",
            fmt::format("{:.6g} to {:.6g}, mean {:.6g}; {}{} distinct; {}", values.minimum, values.maximum, values.mean,
                        values.more_distinct ? "more than " : "", cli::format_count(values.distinct),
                        values.whole_numbers ? "all whole numbers" : "not all whole numbers"));
  std::vector<Bar> bars;
  for (const ValueBucket& bucket : merge_buckets(values.histogram)) {
    const char* const side = bucket.lower > 0 ? "from" : "to";
    bars.push_back({bucket.lower == 0 ? "0" : fmt::format("{} {:.4g}", side, bucket.lower), bucket.count});
  }
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

Json column_json(const TensorColumn& column) {
  return {{"stored_bytes", column.stored_bytes}, {"streamed_bytes", column.streamed_bytes}};
}

Json copy_json(const OrderedCopy& copy) {
  return {{"mode", copy.mode},
          {"along", copy.along ? Json(*copy.along) : Json()},
          {"index", column_json(copy.index)},
          {"high_word", column_json(copy.high_word)},
          {"value", column_json(copy.value)}};
}

Json values_json(const ValueStatistics& values) {
  const auto bucket = [](const ValueBucket& b) {
    return Json{{"lower", b.lower}, {"upper", b.upper}, {"count", b.count}};
  };
  return {{"min", values.minimum},
          {"max", values.maximum},
          {"mean", values.mean},
          {"whole_numbers", values.whole_numbers},
          {"distinct", values.distinct},
          {"more_distinct", values.more_distinct},
          {"histogram", cli::list_json(values.histogram, bucket)}};
}

Json slices_json(const SliceStatistics& mode) {
  const auto bucket = [](const SliceBucket& b) { return Json{{"min", b.min}, {"max", b.max}, {"slices", b.slices}}; };
  return {{"slices", mode.slices},
          {"empty", mode.empty},
          {"min", mode.minimum},
          {"max", mode.maximum},
          {"mean", mode.mean},
          {"median", mode.median},
          {"histogram", cli::list_json(mode.histogram, bucket)}};
}

Json tensor_json(const std::filesystem::path& path, const TensorSummary& summary,
                 const std::optional<TensorStatistics>& statistics) {
  Json json = {{"type", "tensor"},
               {"file", path.string()},
               {"shape", summary.shape},
               {"mode_names", summary.mode_names},
               {"value_name", summary.value_name},
               {"reading", reading_json(summary.reading)},
               {"reordered_modes", summary.reordered_modes},
               {"label_bytes", summary.label_bytes},
               {"nonzeros", summary.nnz},
               {"density", density(summary)},
               {"norm", std::sqrt(summary.sum_of_squares)},
               {"line_bits", summary.line_bits},
               {"chunks", summary.chunk_count},
               {"chunk_nonzeros", summary.chunk_nnz},
               {"file_bytes", summary.file_bytes},
               {"bytes_per_nonzero", bytes_per_nonzero(summary)},
               {"index", column_json(summary.index)},
               {"high_word", column_json(summary.high_word)},
               {"value", column_json(summary.value)},
               {"orders", cli::list_json(summary.copies, copy_json)}};
  if (statistics) {
    json["values"] = values_json(statistics->values);
    json["slices"] = cli::list_json(statistics->modes, slices_json);
  }
  return json;
}

// What the order of each mode takes, where there is a copy in it.
void print_orders(const TensorSummary& summary) {
  if (summary.copies.empty()) return;
  fmt::print("\n{:<12}{:>9}{:>9}{:>10}   bits per nonzero, of copies in the orders of modes\n", "", "stored", "cached",
             "streamed");
  for (const OrderedCopy& copy : summary.copies) {
    print_column(fmt::format("mode {}", copy.mode).c_str(), sum(sum(copy.index, copy.high_word), copy.value),
                 summary.nnz);
  }
}

void print_tensor(const std::filesystem::path& path, const TensorSummary& summary,
                  const std::optional<TensorStatistics>& statistics) {
  print_row("tensor", path.string());
  print_modes(summary.shape, summary.mode_names, summary.label_bytes);
  if (!summary.value_name.empty()) print_row("value name", summary.value_name);
  print_reading(summary.reading);
  if (!summary.reordered_modes.empty()) {
    print_row("reordered", cli::format_modes(summary.reordered_modes, summary.shape.size()));
  }
  print_row("nonzeros", cli::format_count(summary.nnz));
  print_row("density", fmt::format("{:.3g}", density(summary)));
  print_row("norm", fmt::format("{:.6g}", std::sqrt(summary.sum_of_squares)));
  print_row("line bits", summary.line_bits);
  print_row("chunks", fmt::format("{} of up to {} nonzeros", cli::format_count(summary.chunk_count),
                                  cli::format_count(summary.chunk_nnz)));
  print_row("file", fmt::format("{}, {:.2f} bytes per nonzero", cli::format_bytes(summary.file_bytes),
                                bytes_per_nonzero(summary)));

  const TensorColumn index = sum(summary.index, summary.high_word);
  fmt::print("\n{:<12}{:>9}{:>9}{:>10}   bits per nonzero\n", "", "stored", "cached", "streamed");
  print_column("index", index, summary.nnz);
  if (summary.high_word.streamed_bytes != 0) print_column("  high word", summary.high_word, summary.nnz);
  print_column("value", summary.value, summary.nnz);
  print_column("both", sum(index, summary.value), summary.nnz);
  print_orders(summary);
  if (!statistics) return;

  fmt::print("\n");
  print_values(statistics->values);
  for (std::size_t n = 0; n < statistics->modes.size(); ++n) {
    fmt::print("\n");
    const std::string name = mode_name(summary.mode_names, n);
    print_slices(n < summary.mode_names.size() ? fmt::format("mode {} {}", n, name) : name, statistics->modes[n]);
  }
}

}  // namespace

std::string mode_name(const std::vector<std::string>& names, std::size_t mode) {
  return mode < names.size() ? cli::printable(names[mode], cli::longest_name) : fmt::format("mode {}", mode);
}

void print_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names,
                 const std::vector<std::uint64_t>& label_bytes) {
  print_row("shape", cli::format_shape(shape));
  for (std::size_t n = 0; n < shape.size(); ++n) {
    const bool labelled = n < label_bytes.size() && label_bytes[n] > 0;
    fmt::print(
        "  mode {:<5}{}{}{}\n", n, cli::format_count(shape[n]), n < names.size() ? "  " + mode_name(names, n) : "",
        labelled ? fmt::format("  {} labels, {}", cli::format_count(shape[n]), cli::format_bytes(label_bytes[n])) : "");
  }
}

Json reading_json(const InputReading& reading) {
  return {{"columns", reading.columns},
          {"missing", reading.missing},
          {"duplicates", reading.duplicates ? Json(to_string(*reading.duplicates)) : Json()}};
}

void print_reading(const InputReading& reading) {
  if (!reading.columns.empty()) print_row("read as", fmt::format("{}", fmt::join(reading.columns, ", ")));
  if (!reading.missing.empty()) print_row("missing", reading.missing);
  if (reading.duplicates) print_row("duplicates", to_string(*reading.duplicates));
}

void report_tensor(cli::Reporter& reporter, const std::filesystem::path& path, const TensorSummary& summary,
                   const std::optional<TensorStatistics>& statistics) {
  reporter.event("result", tensor_json(path, summary, statistics));
  if (reporter.is_text()) print_tensor(path, summary, statistics);
}

}  // namespace blco::info
