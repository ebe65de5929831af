// In any order, workers take one chunk after another, each with its own buffer; in order, all fill a window of chunks.
#include "engine/tensor/nonzero_reader.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

// A thread's stack and heap, and decoded frames.
constexpr std::uint64_t thread_bytes = std::uint64_t{128} << 10;

class Scan {
 public:
  using Visit = std::function<void(std::size_t, const ChunkView&)>;

  Scan(const ChunkSource& tensor, const Visit& visit, ProgressMeter& meter)
      : tensor_(&tensor), visit_(&visit), meter_(&meter) {}

  void run(int workers) {
    const TensorSizes sizes = measure_tensor(*tensor_);
    ThreadPool pool(workers);
    pool.run(static_cast<std::size_t>(workers), [&](std::size_t worker) {
      try {
        AlignedBuffer<std::byte> buffer(sizes.largest_buffer());
        std::vector<std::byte> scratch(sizes.largest_scratch());
        while (take(worker, buffer.span(), scratch)) report();
      } catch (...) {
        stopped_ = true;
        throw;
      }
    });
    if (failure_) std::rethrow_exception(failure_);
    report();
  }

 private:
  bool take(std::size_t worker, std::span<std::byte> buffer, std::span<std::byte> scratch) {
    // Because chunks are taken in order, every chunk below a failed one is still finished, so the lowest failure is
    // known.
    if (stopped_) return false;
    const std::uint64_t chunk = next_++;
    if (chunk >= tensor_->info().chunk_count()) return false;
    try {
      const ChunkView view = tensor_->read_chunk(chunk, buffer, scratch);
      (*visit_)(worker, view);
      nonzeros_ += view.nnz;
      bytes_ += tensor_->stored_bytes(chunk);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      if (chunk < failed_chunk_) {
        failed_chunk_ = chunk;
        failure_ = std::current_exception();
      }
    }
    return true;
  }

  void report() {
    if (stopped_ || std::this_thread::get_id() != caller_) return;
    meter_->advance(nonzeros_.exchange(0), bytes_.exchange(0));
  }

  const ChunkSource* tensor_;
  const Visit* visit_;
  ProgressMeter* meter_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<std::uint64_t> nonzeros_ = 0;  // not yet reported; likewise the bytes
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::uint64_t failed_chunk_ = std::numeric_limits<std::uint64_t>::max();
  std::exception_ptr failure_;
};

}  // namespace

int scan_workers(const ChunkSource& tensor, const ScanBudget& budget, int threads) {
  check_threads(threads);
  const TensorSizes sizes = measure_tensor(tensor);
  const std::uint64_t fixed = scan_overhead_bytes + sizes.table_bytes + tensor.held_bytes() + budget.fixed_bytes;
  const std::uint64_t each = thread_bytes + budget.worker_bytes + sizes.largest_buffer() + sizes.largest_scratch();
  if (budget.total_bytes < fixed + each) {
    throw Error(ErrorKind::out_of_memory, tensor.name() + ": reading it requires at least " +
                                              format_bytes(fixed + each) + " of memory, but the budget is " +
                                              format_bytes(budget.total_bytes) + "; give at least " +
                                              option_name(budget.option, as_budget(fixed + each)));
  }
  const std::uint64_t max_workers = std::min((budget.total_bytes - fixed) / each, tensor.info().chunk_count());
  const auto wanted = static_cast<std::uint64_t>(threads > 0 ? threads : ThreadPool(0).width());
  return static_cast<int>(std::min(wanted, max_workers));
}

void scan_chunks(const ChunkSource& tensor, int workers,
                 const std::function<void(std::size_t, const ChunkView&)>& visit, ProgressMeter& meter) {
  Scan(tensor, visit, meter).run(workers);
}

ChunkWindow::ChunkWindow(const ChunkSource& tensor, std::size_t chunks, Executor& executor)
    : tensor_(tensor), executor_(executor) {
  const TensorSizes sizes = measure_tensor(tensor);
  places_.resize(std::min<std::uint64_t>(chunks, tensor.info().chunk_count()));
  for (Place& place : places_) {
    place.buffer = AlignedBuffer<std::byte>(sizes.largest_buffer());
    place.scratch.resize(sizes.largest_scratch());
  }
}

std::span<const ChunkView> ChunkWindow::next() {
  for (const Place& place : places_) {
    if (place.failure) std::rethrow_exception(place.failure);
  }
  const std::uint64_t count = std::min<std::uint64_t>(places_.size(), tensor_.info().chunk_count() - next_);
  views_.resize(count);
  executor_.run(count, [&](std::size_t i) {
    Place& place = places_[i];
    try {
      views_[i] = tensor_.read_chunk(next_ + i, place.buffer.span(), place.scratch);
    } catch (...) {
      place.failure = std::current_exception();
    }
  });
  std::size_t whole = 0;
  while (whole < count && !places_[whole].failure) ++whole;
  if (whole == 0 && count > 0) std::rethrow_exception(places_[0].failure);
  for (std::uint64_t chunk = next_; chunk < next_ + whole; ++chunk) {
    bytes_read_ += tensor_.stored_bytes(chunk);
  }
  next_ += whole;
  // The system reads on while these are worked on.
  for (std::uint64_t chunk = next_; chunk < std::min(next_ + count, tensor_.info().chunk_count()); ++chunk) {
    tensor_.announce_read(chunk);
  }
  return std::span(views_).first(whole);
}

NonzeroDecoder::NonzeroDecoder(const ChunkSource& tensor, Indices indices)
    : tensor_(tensor), layout_(layout_of(tensor.info())), originals_(layout_.shape().size()) {
  if (indices == Indices::stored) return;
  for (std::size_t n = 0; n < originals_.size(); ++n) originals_[n] = tensor.reordering(n);
}

std::uint64_t NonzeroDecoder::memory_bytes(const ContainerInfo& info) {
  std::uint64_t bytes = 0;
  for (const ReorderedMode& reordered : info.reordered) {
    bytes += info.shape[static_cast<std::size_t>(reordered.mode)] * sizeof(std::uint32_t);
  }
  return bytes;
}

void NonzeroDecoder::decode(const ChunkView& chunk, std::uint64_t frame, NonzeroFrame& out) const {
  FrameReader frames(chunk);
  frames.read_lines(frame);
  frames.read_values(frame);
  out.count = frames.entries(frame);
  out.values = frames.values;
  for (std::size_t n = 0; n < originals_.size(); ++n) {
    const std::span<std::uint64_t> column = std::span(out.coordinates[n]).first(out.count);
    frames.coordinates(layout_.view().modes[n], out.count, out.coordinates[n]);
    if (*std::ranges::max_element(column) >= layout_.shape()[n]) {
      throw Error(ErrorKind::corrupt, tensor_.name() + ": chunk " + std::to_string(chunk.number) +
                                          " has coordinates outside the shape; restore the file from a copy, or "
                                          "ingest the tensor again");
    }
    if (originals_[n].empty()) continue;
    for (std::uint64_t& index : column) index = originals_[n][static_cast<std::size_t>(index)];
  }
}

bool NonzeroReader::next(std::size_t max_frames) {
  const auto frames_of = [](const ChunkView& chunk) { return (chunk.nnz + frame_entries - 1) / frame_entries; };
  first_frame_ += frames_;
  if (!views_.empty() && first_frame_ == frames_of(views_[0])) {
    views_ = views_.subspan(1);
    first_frame_ = 0;
  }
  if (views_.empty()) views_ = chunks_.next();
  frames_ = views_.empty() ? 0 : std::min<std::uint64_t>(max_frames, frames_of(views_[0]) - first_frame_);
  return frames_ > 0;
}

std::size_t NonzeroReader::count() const {
  return std::min<std::uint64_t>(frames_ * frame_entries, views_[0].nnz - first_frame_ * frame_entries);
}

}  // namespace blco
