// Brings the nonzeros of a fiber together by the sort of ingest, with the mode's index below the line of the others.
#include <algorithm>
#include <array>
#include <bit>
#include <blco/ttm.hpp>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/check_callable.hpp"
#include "engine/common/check_outputs.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/progress_meter.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/ingest/sort/line_sort.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "io/arrays/fiber_file.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

// Numbers of a block of rows.
constexpr std::size_t block_numbers = std::size_t{1} << 16;
// Of a walk, before their entries are taken on.
constexpr std::size_t frames_per_worker = 16;
// A part has no fewer nonzeros than this, if the tensor has.
constexpr std::uint64_t least_entries = std::uint64_t{1} << 14;
// Parts are cut between lines that differ in so many of their highest bits.
constexpr int part_bits = 16;

template <class Entry>
class FiberWalk {
 public:
  FiberWalk(const Tensor& tensor, std::size_t mode, const MatrixView& matrix, const TtmOptions& options,
            const ProgressCallback& progress)
      : tensor_(&tensor),
        mode_(mode),
        matrix_(matrix),
        meter_(progress),
        others_(shape_of_others(tensor, mode)),
        row_bits_(static_cast<int>(std::bit_width(tensor.shape()[mode] - 1))),
        line_bits_(row_bits_ + others_.line_bits()),
        budget_(host_budget(options.memory_bytes)),
        pool_(options.threads) {}

  static std::vector<std::uint64_t> shape_of_others(const Tensor& tensor, std::size_t mode) {
    std::vector<std::uint64_t> shape = tensor.shape();
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(mode));
    return shape;
  }

  void run(const FiberSink& sink) {
    std::uint64_t most = plan();
    if (tensor_->nnz() <= most) return run_part(0, last_part() + 1, tensor_->nnz(), sink);
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(last_part()) + 1);
    for_each_entry([&](const Entry& entry) { ++counts[part_of(entry)]; });
    if (const std::uint64_t largest = std::ranges::max(counts); largest > most) {
      workers_ = workers_for(largest);
      most = largest;
    }
    for (std::size_t first = 0; first < counts.size();) {
      std::size_t end = first;
      std::uint64_t entries = 0;
      while (end < counts.size() && entries + counts[end] <= most) entries += counts[end++];
      run_part(first, end, entries, sink);
      first = end;
    }
  }

 private:
  // Lines of up to 128 bits, the mode's index in the lowest.
  Entry make_entry(LineIndex others, std::uint64_t row, double value) const {
    Entry entry{};
    entry.low = others.low;
    entry.value = value;
    if constexpr (requires { entry.high; }) {
      entry.high = others.key;
      if (row_bits_ > 0) {
        entry.high = entry.high << row_bits_ | entry.low >> (64 - row_bits_);
      }
    }
    entry.low = row_bits_ == 0 ? entry.low : entry.low << row_bits_ | row;
    return entry;
  }
  LineIndex fiber_of(const Entry& entry) const {
    LineIndex line;
    line.low = row_bits_ == 0 ? entry.low : entry.low >> row_bits_;
    if constexpr (requires { entry.high; }) {
      if (row_bits_ > 0) line.low |= entry.high << (64 - row_bits_);
      line.key = row_bits_ == 0 ? entry.high : entry.high >> row_bits_;
    }
    return line;
  }
  std::uint64_t row_of(const Entry& entry) const { return entry.low & ((std::uint64_t{1} << row_bits_) - 1); }

  // A fiber is never cut: parts are of the other modes' bits.
  int bits_of_part() const { return std::min(part_bits, others_.line_bits()); }
  std::size_t last_part() const { return (std::size_t{1} << bits_of_part()) - 1; }
  std::size_t part_of(const Entry& entry) const {
    return bits_of_part() == 0 ? 0 : digit_of(entry, line_bits_ - bits_of_part(), bits_of_part());
  }

  // Of the walk beside a part of so many nonzeros. Throws Error{out_of_memory}.
  int workers_for(std::uint64_t entries) const {
    ScanBudget budget{.option = "memory_bytes"};
    budget.total_bytes = budget_;
    budget.fixed_bytes = 2 * entries * sizeof(Entry) + (sizeof(std::uint64_t) << part_bits) +
                         NonzeroDecoder::memory_bytes(TensorChunks::of(*tensor_).info()) +
                         4 * block_numbers * sizeof(double) + matrix_.columns * sizeof(double);
    budget.worker_bytes = frames_per_worker * frame_entries * sizeof(Entry) + sizeof(NonzeroFrame);
    return scan_workers(TensorChunks::of(*tensor_), budget, pool_.width());
  }

  // The most nonzeros of a part.
  std::uint64_t plan() {
    for (std::uint64_t most = std::max<std::uint64_t>(1, tensor_->nnz());; most /= 2) {
      try {
        workers_ = workers_for(most);
        return most;
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::out_of_memory || most <= least_entries) throw;
      }
    }
  }

  // In the stored order.
  template <class Visit>
  void for_each_entry(const Visit& visit) {
    const auto workers = static_cast<std::size_t>(workers_);
    NonzeroReader reader(TensorChunks::of(*tensor_), workers, pool_);
    std::vector<Entry> entries(workers * frames_per_worker * frame_entries);
    std::uint64_t bytes_before = 0;
    meter_.begin({.name = "read", .nonzeros = tensor_->nnz()});
    while (reader.next(workers * frames_per_worker)) {
      run_shares(pool_, reader.frames(), [&](std::uint64_t frame, std::uint64_t end) {
        NonzeroFrame decoded;
        for (; frame < end; ++frame) {
          reader.decode(static_cast<std::size_t>(frame), decoded);
          add_frame(decoded, entries.data() + frame * frame_entries);
        }
      });
      for (std::size_t i = 0; i < reader.count(); ++i) visit(entries[i]);
      meter_.advance(reader.count(), reader.bytes_read() - bytes_before);
      bytes_before = reader.bytes_read();
    }
    meter_.end();
  }

  void add_frame(const NonzeroFrame& frame, Entry* to) const {
    std::array<std::uint64_t, max_order> point{};
    const std::size_t order = others_.shape().size();
    for (std::size_t i = 0; i < frame.count; ++i) {
      for (std::size_t n = 0; n < order; ++n) point[n] = frame.coordinates[n < mode_ ? n : n + 1][i];
      to[i] =
          make_entry(others_.linearize(std::span(point).first(order)), frame.coordinates[mode_][i], frame.values[i]);
    }
  }

  // Parts from `first` to before `end`, which have so many nonzeros.
  void run_part(std::size_t first, std::size_t end, std::uint64_t count, const FiberSink& sink) {
    if (count == 0) return;
    std::vector<Entry> entries;
    entries.reserve(static_cast<std::size_t>(count));
    for_each_entry([&](const Entry& entry) {
      const std::size_t part = part_of(entry);
      if (part >= first && part < end) entries.push_back(entry);
    });
    std::vector<Entry> sorted(entries.size());
    const auto shares = static_cast<std::size_t>(pool_.width());
    const Digit digit = first_digit(entries.size(), line_bits_);
    const auto visit = [&](std::size_t share, const auto& to) {
      const std::size_t begin = entries.size() * share / shares;
      to(std::span<const Entry>(entries).subspan(begin, entries.size() * (share + 1) / shares - begin));
    };
    const std::vector<std::size_t> begins = scatter_by_digit<Entry>(shares, visit, std::span(sorted), digit, pool_);
    sort_buckets<Entry>(sorted, entries, begins, digit.from, pool_);
    entries = {};
    pass_on(sorted, sink);
  }

  void pass_on(const std::vector<Entry>& entries, const FiberSink& sink) {
    const std::size_t columns = matrix_.columns;
    const std::size_t most = std::max<std::size_t>(1, block_numbers / columns);
    const std::size_t order = others_.shape().size();
    std::vector<std::size_t> starts;  // of fibers, and the end
    std::vector<double> rows;
    std::vector<std::vector<std::uint64_t>> coordinates(order);
    for (std::size_t at = 0; at < entries.size();) {
      starts.clear();
      for (LineIndex last{}; at < entries.size(); ++at) {
        const LineIndex fiber = fiber_of(entries[at]);
        if (!starts.empty() && fiber == last) continue;
        if (starts.size() == most) break;
        starts.push_back(at);
        last = fiber;
      }
      starts.push_back(at);
      const std::size_t fibers = starts.size() - 1;
      rows.assign(fibers * columns, 0.0);
      for (std::vector<std::uint64_t>& of_mode : coordinates) of_mode.resize(fibers);
      run_shares(pool_, fibers, [&](std::uint64_t fiber, std::uint64_t end) {
        std::vector<std::uint64_t> point(order);
        for (; fiber < end; ++fiber) {
          others_.delinearize(fiber_of(entries[starts[fiber]]), point);
          for (std::size_t n = 0; n < order; ++n) coordinates[n][fiber] = point[n];
          double* const row = rows.data() + fiber * columns;
          for (std::size_t i = starts[fiber]; i < starts[fiber + 1]; ++i) {
            const double* const from = matrix_.data + row_of(entries[i]) * columns;
            for (std::size_t r = 0; r < columns; ++r) row[r] += entries[i].value * from[r];
          }
        }
      });
      const std::vector<std::span<const std::uint64_t>> spans(coordinates.begin(), coordinates.end());
      sink({spans, rows});
    }
  }

  const Tensor* tensor_;
  std::size_t mode_;
  MatrixView matrix_;
  ProgressMeter meter_;
  TensorLayout others_;
  int row_bits_;
  int line_bits_;
  std::uint64_t budget_;
  ThreadPool pool_;
  int workers_ = 1;
};

void check_product(const std::vector<std::uint64_t>& shape, std::size_t mode, const MatrixView& matrix) {
  if (mode >= shape.size() || shape.size() < 2) {
    refuse("mode " + std::to_string(mode) + " of a tensor of " + std::to_string(shape.size()) +
           " modes cannot be multiplied; it takes one of two modes or more");
  }
  if (matrix.rows != shape[mode] || matrix.columns == 0) {
    refuse("the matrix has " + std::to_string(matrix.rows) + " rows and " + std::to_string(matrix.columns) +
           " columns, but mode " + std::to_string(mode) + " has the length " + std::to_string(shape[mode]));
  }
  if (matrix.data == nullptr) refuse("the matrix is null");
}

}  // namespace

void for_each_fiber(const Tensor& tensor, std::size_t mode, const MatrixView& matrix, const FiberSink& sink,
                    const TtmOptions& options, const ProgressCallback& progress) {
  const std::vector<std::uint64_t>& shape = tensor.shape();
  check_product(shape, mode, matrix);
  check_callable(sink, "sink");
  if (TensorLayout(shape).has_high_word()) {
    FiberWalk<WideEntry>(tensor, mode, matrix, options, progress).run(sink);
  } else {
    FiberWalk<NarrowEntry>(tensor, mode, matrix, options, progress).run(sink);
  }
}

SemiSparseTensor ttm(const Tensor& tensor, std::size_t mode, const MatrixView& matrix, const TtmOptions& options,
                     const ProgressCallback& progress) {
  SemiSparseTensor result;
  result.columns = matrix.columns;
  TtmOptions of_walk = options;
  const std::uint64_t budget = host_budget(options.memory_bytes);
  of_walk.memory_bytes = std::max<std::uint64_t>(1, budget / 2);
  std::uint64_t bytes = 0;
  const auto add = [&](const FiberBlock& block) {
    bytes += block.rows.size_bytes();
    for (const auto& of_mode : block.coordinates) bytes += of_mode.size_bytes();
    // Lists that grow are there twice for a moment.
    if (bytes > budget / 4) {
      throw Error(ErrorKind::out_of_memory, "the fibers of mode " + std::to_string(mode) + " take more than " +
                                                format_bytes(budget / 4) + ", half of what is left of the budget of " +
                                                format_bytes(budget) + "; give a larger " +
                                                option_name("memory_bytes") + ", or take them a block at a time");
    }
    result.rows.insert(result.rows.end(), block.rows.begin(), block.rows.end());
    result.coordinates.resize(block.coordinates.size());
    for (std::size_t n = 0; n < block.coordinates.size(); ++n) {
      std::vector<std::uint64_t>& of_mode = result.coordinates[n];
      of_mode.insert(of_mode.end(), block.coordinates[n].begin(), block.coordinates[n].end());
    }
  };
  for_each_fiber(tensor, mode, matrix, add, of_walk, progress);
  result.shape = tensor.shape();
  result.shape.erase(result.shape.begin() + static_cast<std::ptrdiff_t>(mode));
  result.coordinates.resize(result.shape.size());
  return result;
}

std::uint64_t write_ttm(const Tensor& tensor, std::size_t mode, const MatrixView& matrix,
                        const std::filesystem::path& path, const TtmOptions& options,
                        const ProgressCallback& progress) {
  check_product(tensor.shape(), mode, matrix);
  refuse_inputs_as_outputs({tensor.summary().file}, {path});
  FiberFileWriter writer(path, tensor.shape(), mode, matrix.columns);
  std::uint64_t fibers = 0;
  const auto add = [&](const FiberBlock& block) {
    writer.add(block.coordinates, block.rows);
    fibers += block.rows.size() / matrix.columns;
  };
  for_each_fiber(tensor, mode, matrix, add, options, progress);
  writer.publish();
  return fibers;
}

}  // namespace blco
