// The public walks: in order, blocks are decoded side by side and visited one by one; else workers visit their own.
#include <algorithm>
#include <array>
#include <blco/nonzeros.hpp>
#include <limits>
#include <memory>

#include "engine/common/check_callable.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "kernels/aligned_buffer.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

constexpr std::size_t block_frames = 16;
constexpr std::size_t block_entries = block_frames * frame_entries;
// Blocks at a time: enough that threads wait little for each other.
constexpr std::size_t blocks_per_thread = 4;

// A visitor has said that it wants no more.
struct Stopped {};

// Memory for one block.
class BlockBuffer {
 public:
  explicit BlockBuffer(std::size_t order, const MemorySource& memory = {}) : columns_(order), spans_(order) {
    for (auto& column : columns_) column = memory.vector<std::uint64_t>(block_entries);
  }

  // decode(frame, out) decodes frame `frame` of the block.
  template <class Decode>
  void fill(std::uint64_t first, std::size_t frames, const Decode& decode) {
    first_ = first;
    count_ = 0;
    for (std::size_t f = 0; f < frames; ++f) {
      decode(f, frame_);
      for (std::size_t n = 0; n < columns_.size(); ++n) {
        std::copy_n(frame_.coordinates[n].begin(), frame_.count, columns_[n].begin() + count_);
      }
      std::copy_n(frame_.values.begin(), frame_.count, values_.begin() + count_);
      count_ += frame_.count;
    }
  }

  void visit(const NonzeroVisitor& visitor) {
    for (std::size_t n = 0; n < columns_.size(); ++n) spans_[n] = std::span(columns_[n]).first(count_);
    if (!visitor({first_, spans_, std::span<const double>(values_).first(count_)})) throw Stopped();
  }

 private:
  std::uint64_t first_ = 0;
  std::size_t count_ = 0;
  std::vector<std::vector<std::uint64_t>> columns_;
  std::vector<std::span<const std::uint64_t>> spans_;
  std::array<double, block_entries> values_;
  NonzeroFrame frame_;
};

class Walk {
 public:
  // `kept_bytes` of the budget are the caller's.
  Walk(const Tensor& tensor, const NonzeroOptions& options, std::uint64_t kept_bytes, const ProgressCallback& progress)
      : tensor_(TensorChunks::of(tensor)), meter_(progress) {
    ScanBudget budget{.option = "memory_bytes"};
    budget.total_bytes = host_budget(options.memory_bytes);
    budget.fixed_bytes = kept_bytes + NonzeroDecoder::memory_bytes(tensor_.info());
    const std::size_t order = tensor_.info().shape.size();
    budget.worker_bytes = blocks_per_thread * (sizeof(BlockBuffer) + bytes_of<BlockBuffer>(order));
    workers_ = scan_workers(tensor_, budget, options.threads);
  }

  void run(const NonzeroVisitor& visit, bool in_order) {
    meter_.begin({.name = "read", .nonzeros = tensor_.info().nnz});
    try {
      in_order ? visit_in_order(visit) : visit_in_any_order(visit);
    } catch (const Stopped&) {
      return;
    }
    meter_.end();
  }

 private:
  void visit_in_order(const NonzeroVisitor& visit) {
    ThreadPool pool(workers_);
    NonzeroReader reader(tensor_, static_cast<std::size_t>(workers_), pool);
    const auto blocks = make_blocks(blocks_per_thread * static_cast<std::size_t>(workers_));
    std::uint64_t bytes_before = 0;
    while (reader.next(blocks.size() * block_frames)) {
      const std::size_t count = (reader.frames() + block_frames - 1) / block_frames;
      pool.run(count, [&](std::size_t b) {
        const std::size_t first = b * block_frames;
        blocks[b]->fill(reader.first() + b * block_entries, std::min(block_frames, reader.frames() - first),
                        [&](std::size_t frame, NonzeroFrame& out) { reader.decode(first + frame, out); });
      });
      for (std::size_t b = 0; b < count; ++b) blocks[b]->visit(visit);
      meter_.advance(reader.count(), reader.bytes_read() - bytes_before);
      bytes_before = reader.bytes_read();
    }
  }

  void visit_in_any_order(const NonzeroVisitor& visit) {
    const NonzeroDecoder decoder(tensor_);
    const auto blocks = make_blocks(static_cast<std::size_t>(workers_));
    const auto visit_chunk = [&](std::size_t worker, const ChunkView& chunk) {
      const std::uint64_t frames = (chunk.nnz + frame_entries - 1) / frame_entries;
      for (std::uint64_t first = 0; first < frames; first += block_frames) {
        blocks[worker]->fill(chunk.number * tensor_.info().chunk_nnz + first * frame_entries,
                             std::min<std::uint64_t>(block_frames, frames - first),
                             [&](std::size_t frame, NonzeroFrame& out) { decoder.decode(chunk, first + frame, out); });
        blocks[worker]->visit(visit);
      }
    };
    scan_chunks(tensor_, workers_, visit_chunk, meter_);
  }

  std::vector<std::unique_ptr<BlockBuffer>> make_blocks(std::size_t count) const {
    std::vector<std::unique_ptr<BlockBuffer>> blocks(count);
    for (auto& block : blocks) block = std::make_unique<BlockBuffer>(tensor_.info().shape.size());
    return blocks;
  }

  const ChunkSource& tensor_;
  ProgressMeter meter_;
  int workers_ = 1;
};

}  // namespace

void for_each_nonzero(const Tensor& tensor, const NonzeroVisitor& visit, const NonzeroOptions& options,
                      const ProgressCallback& progress) {
  check_callable(visit, "visitor");
  Walk(tensor, options, 0, progress).run(visit, options.in_order);
}

NonzeroColumns read_coordinates(const Tensor& tensor, const NonzeroOptions& options, const ProgressCallback& progress) {
  const std::uint64_t nnz = tensor.summary().nnz;
  const std::size_t order = tensor.summary().shape.size();
  Walk walk(tensor, options, nnz * (order + 1) * sizeof(double), progress);
  NonzeroColumns columns{std::vector<std::vector<std::uint64_t>>(order), std::vector<double>(nnz)};
  for (auto& column : columns.coordinates) column.resize(nnz);
  const auto place = [&](const NonzeroBlock& block) {
    const auto first = static_cast<std::ptrdiff_t>(block.first);
    for (std::size_t n = 0; n < order; ++n) {
      std::ranges::copy(block.coordinates[n], columns.coordinates[n].begin() + first);
    }
    std::ranges::copy(block.values, columns.values.begin() + first);
    return true;
  };
  walk.run(place, false);
  return columns;
}

struct NonzeroCursor::State {
  State(const Tensor& tensor, int workers)
      : order(tensor.order()),
        pool(workers),
        reader(TensorChunks::of(tensor), static_cast<std::size_t>(workers), pool) {}

  std::size_t order;
  ThreadPool pool;
  NonzeroReader reader;
};

NonzeroCursor::NonzeroCursor(const Tensor& tensor, const NonzeroOptions& options) {
  const ChunkSource& chunks = TensorChunks::of(tensor);
  const std::uint64_t chunk_nnz = std::min(chunks.info().chunk_nnz, tensor.nnz());
  ScanBudget budget{.option = "memory_bytes"};
  budget.total_bytes = host_budget(options.memory_bytes);
  budget.fixed_bytes = NonzeroDecoder::memory_bytes(chunks.info()) + (tensor.order() + 1) * chunk_nnz * sizeof(double);
  budget.worker_bytes = sizeof(NonzeroFrame);
  state_ = std::make_unique<State>(tensor, scan_workers(chunks, budget, options.threads));
}

NonzeroCursor::~NonzeroCursor() = default;
NonzeroCursor::NonzeroCursor(NonzeroCursor&&) noexcept = default;
NonzeroCursor& NonzeroCursor::operator=(NonzeroCursor&&) noexcept = default;

NonzeroColumns NonzeroCursor::next() {
  if (!state_) refuse("the cursor has been moved from; use the one that it went to");
  NonzeroColumns columns{std::vector<std::vector<std::uint64_t>>(state_->order), {}};
  NonzeroReader& reader = state_->reader;
  if (!reader.next(std::numeric_limits<std::size_t>::max())) return columns;
  for (auto& column : columns.coordinates) column.resize(reader.count());
  columns.values.resize(reader.count());
  run_shares(state_->pool, reader.frames(), [&](std::uint64_t begin, std::uint64_t end) {
    NonzeroFrame out;
    for (std::uint64_t frame = begin; frame < end; ++frame) {
      reader.decode(frame, out);
      const auto first = static_cast<std::ptrdiff_t>(frame * frame_entries);
      for (std::size_t n = 0; n < columns.coordinates.size(); ++n) {
        std::copy_n(out.coordinates[n].begin(), out.count, columns.coordinates[n].begin() + first);
      }
      std::copy_n(out.values.begin(), out.count, columns.values.begin() + first);
    }
  });
  return columns;
}

}  // namespace blco
