// Counts values in one traversal of the chunks, and nonzeros per slice in as many as the budget requires.
#include <algorithm>
#include <blco/statistics.hpp>
#include <cmath>
#include <string>

#include "blco/option_name.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/tensor/value_counts.hpp"

namespace blco {
namespace {

// Memory for the distribution of one mode's counts: a table, and a map of the few large ones.
std::uint64_t distribution_bytes(std::uint64_t nnz) { return (std::uint64_t{520} << 10) + 64 * (nnz >> 16); }

// Fewer coordinates than this are not worth a traversal of their own.
constexpr std::uint64_t min_counters = std::uint64_t{1} << 16;

class Measurement {
 public:
  Measurement(const ChunkSource& reader, std::uint64_t budget_bytes, int threads, const ProgressCallback& progress)
      : reader_(&reader), layout_(reader.info().shape), meter_(progress), chunk_means_(reader.info().chunk_count()) {
    const std::span<const std::uint64_t> shape = layout_.shape();
    scan_.total_bytes = budget_bytes;
    scan_.worker_bytes = ValueCounts::bytes + SliceCounters::worker_bytes(shape.size());
    const std::uint64_t kept = shape.size() * distribution_bytes(nnz()) + chunk_means_.size() * sizeof(double);
    std::uint64_t coordinates = 0;
    for (const std::uint64_t length : shape) coordinates += std::min(length, max_counters - coordinates);
    // Threads take precedence over counters, up to half of the budget, because every traversal costs time.
    const std::uint64_t min_count = std::min(coordinates, min_counters);
    scan_.fixed_bytes = kept + min_count * sizeof(std::uint64_t);
    scan_workers(reader, scan_, 1);
    const std::uint64_t half = std::max(min_count, std::min(coordinates, budget_bytes / 2 / sizeof(std::uint64_t)));
    scan_.fixed_bytes = kept + half * sizeof(std::uint64_t);
    std::uint64_t counters = half;
    try {
      workers_ = scan_workers(reader, scan_, threads);
    } catch (const Error&) {
      counters = min_count;
      scan_.fixed_bytes = kept + min_count * sizeof(std::uint64_t);
      workers_ = scan_workers(reader, scan_, 1);
    }
    // More would not end, and their windows take memory too.
    constexpr std::uint64_t most_passes = 4096;
    if (counters < coordinates / most_passes) {
      throw Error(ErrorKind::out_of_memory,
                  "to count the nonzeros of each index takes more than " + std::to_string(most_passes) +
                      " passes over " + reader.name() + ", whose modes are that long; give at least " +
                      option_name("memory_bytes",
                                  as_budget(kept + 2 * (coordinates / most_passes + 1) * sizeof(std::uint64_t))));
    }
    passes_ = plan_windows(shape, counters);
  }

  TensorStatistics run() {
    values_.resize(static_cast<std::size_t>(workers_));
    distributions_.resize(layout_.shape().size());
    meter_.begin({.name = "measure", .nonzeros = nnz() * passes_.size()});
    for (std::size_t pass = 0; pass < passes_.size(); ++pass) traverse(pass);
    meter_.end();

    TensorStatistics result;
    for (std::size_t worker = 1; worker < values_.size(); ++worker) values_[0].add_all(values_[worker]);
    result.values = values_[0].result();
    for (const double mean : chunk_means_) result.values.mean += mean;
    for (const CountDistribution& distribution : distributions_) {
      if (distribution.nonzeros() != nnz()) {
        throw Error(ErrorKind::corrupt,
                    reader_->name() + ": it holds coordinates outside its shape; ingest the tensor again");
      }
      result.modes.push_back(distribution.result());
    }
    result.passes = static_cast<int>(passes_.size());
    return result;
  }

 private:
  static constexpr std::uint64_t max_counters = std::uint64_t{1} << 56;

  void traverse(std::size_t pass) {
    SliceCounters counters(passes_[pass], workers_);
    const auto visit = [&](std::size_t worker, const ChunkView& chunk) {
      FrameReader frames(chunk);
      long double sum = 0;
      for (std::uint64_t frame = 0; frame < frames.frames(); ++frame) {
        const std::size_t entries = frames.entries(frame);
        frames.read_lines(frame);
        counters.add(worker, frames, layout_.view(), entries);
        if (pass != 0) continue;
        frames.read_values(frame);
        const auto values = std::span(frames.values).first(entries);
        check_finite(chunk.number, values);
        values_[worker].add(values);
        for (const double value : values) sum += static_cast<long double>(value);
      }
      if (pass == 0) chunk_means_[chunk.number] = static_cast<double>(sum / static_cast<long double>(nnz()));
    };
    scan_chunks(*reader_, workers_, visit, meter_);
    for (std::size_t w = 0; w < passes_[pass].size(); ++w) {
      distributions_[passes_[pass][w].mode].add(counters.finish(w));
      meter_.advance(0, 0);
    }
  }

  void check_finite(std::uint64_t chunk, std::span<const double> values) const {
    if (std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return;
    throw Error(ErrorKind::corrupt, reader_->name() + ": chunk " + std::to_string(chunk) +
                                        " holds a value that is not finite; ingest the tensor again");
  }

  std::uint64_t nnz() const { return reader_->info().nnz; }

  const ChunkSource* reader_;
  TensorLayout layout_;
  ProgressMeter meter_;
  ScanBudget scan_;
  int workers_ = 1;
  std::vector<std::vector<SliceWindow>> passes_;
  std::vector<ValueCounts> values_;  // per worker
  std::vector<double> chunk_means_;  // each chunk's part of the mean, added in chunk order for any number of threads
  std::vector<CountDistribution> distributions_;  // per mode
};

}  // namespace

TensorStatistics measure_statistics(const Tensor& tensor, const MemoryBudget& budget, int threads,
                                    const ProgressCallback& progress) {
  check_threads(threads);
  return Measurement(TensorChunks::of(tensor), host_budget(budget.host_bytes), threads, progress).run();
}

}  // namespace blco
