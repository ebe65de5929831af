// Workers take one chunk after another, each with its own buffer.
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

// A thread's stack and heap, decoded frames, and the program's own memory.
constexpr std::uint64_t thread_bytes = std::uint64_t{128} << 10;
constexpr std::uint64_t overhead_bytes = std::uint64_t{8} << 20;

class Scan {
 public:
  using Visit = std::function<void(std::size_t, const ChunkView&)>;

  Scan(const ContainerReader& tensor, const Visit& visit, ProgressMeter& meter)
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
      for (const StoredExtent& extent : tensor_->extents(chunk)) bytes_ += extent.stored_bytes;
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

  const ContainerReader* tensor_;
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

int scan_workers(const ContainerReader& tensor, const ScanBudget& budget, int threads) {
  const TensorSizes sizes = measure_tensor(tensor);
  const std::uint64_t fixed = overhead_bytes + sizes.table_bytes + budget.fixed_bytes;
  const std::uint64_t each = thread_bytes + budget.worker_bytes + sizes.largest_buffer() + sizes.largest_scratch();
  if (budget.total_bytes < fixed + each) {
    throw Error(ErrorKind::out_of_memory, tensor.path().string() + ": reading it requires at least " +
                                              format_bytes(fixed + each) + " of memory, but the budget is " +
                                              format_bytes(budget.total_bytes) + "; give at least " +
                                              option_name("host_bytes", as_budget(fixed + each)));
  }
  const std::uint64_t max_workers = std::min((budget.total_bytes - fixed) / each, tensor.info().chunk_count());
  const auto wanted = static_cast<std::uint64_t>(threads > 0 ? threads : ThreadPool(0).width());
  return static_cast<int>(std::min(wanted, max_workers));
}

void scan_chunks(const ContainerReader& tensor, int workers,
                 const std::function<void(std::size_t, const ChunkView&)>& visit, ProgressMeter& meter) {
  Scan(tensor, visit, meter).run(workers);
}

}  // namespace blco
