// Workers that take chunk after chunk, each with a buffer of its own.
#include "engine/chunk_scan.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>

#include "blco/error.hpp"
#include "engine/memory.hpp"
#include "engine/tensor_sizes.hpp"
#include "engine/thread_pool.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

// A thread's stack and heap, decoded frames, and what the program itself takes.
constexpr std::uint64_t thread_bytes = std::uint64_t{128} << 10;
constexpr std::uint64_t overhead_bytes = std::uint64_t{8} << 20;

class Scan {
 public:
  using Visit = std::function<void(std::size_t, const ChunkView&)>;

  Scan(const ContainerReader& tensor, const ScanRequest& request, const Visit& visit, const ProgressCallback& progress)
      : tensor_(&tensor), request_(&request), visit_(&visit), progress_(&progress) {}

  void run(int workers) {
    const TensorSizes sizes = measure_tensor(*tensor_);
    ThreadPool pool(workers);
    pool.run(static_cast<std::size_t>(workers), [&](std::size_t worker) {
      try {
        AlignedBuffer<std::byte> buffer(sizes.largest_buffer());
        std::vector<std::byte> scratch(sizes.largest_scratch());
        while (take(worker, buffer.span(), scratch)) report(false);
      } catch (...) {
        stopped_ = true;
        throw;
      }
    });
    if (failure_) std::rethrow_exception(failure_);
    report(true);
  }

 private:
  bool take(std::size_t worker, std::span<std::byte> buffer, std::span<std::byte> scratch) {
    // In this order every chunk below one that failed is read to its end, and the lowest failure is known.
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

  void report(bool at_end) {
    if (!*progress_ || std::this_thread::get_id() != caller_) return;
    const auto now = std::chrono::steady_clock::now();
    if (!at_end && (stopped_ || now - reported_ < std::chrono::milliseconds(100))) return;
    reported_ = now;
    Progress state;
    state.stage = request_->stage;
    state.nonzeros = request_->nonzeros_before + nonzeros_;
    state.bytes = request_->bytes_before + bytes_;
    const std::uint64_t all = std::max(request_->nonzeros_in_all, tensor_->info().nnz);
    state.share = static_cast<double>(state.nonzeros) / static_cast<double>(all);
    state.seconds = std::chrono::duration<double>(now - begin_).count();
    if (at_end && state.nonzeros < all) return;
    if ((*progress_)(state)) return;
    throw Error(ErrorKind::cancelled, tensor_->path().string() + ": stopped before all of it was read");
  }

  const ContainerReader* tensor_;
  const ScanRequest* request_;
  const Visit* visit_;
  const ProgressCallback* progress_;
  std::thread::id caller_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point reported_ = begin_;
  std::atomic<std::uint64_t> next_ = 0;
  std::atomic<std::uint64_t> nonzeros_ = 0;
  std::atomic<std::uint64_t> bytes_ = 0;
  std::atomic<bool> stopped_ = false;
  std::mutex mutex_;
  std::uint64_t failed_chunk_ = std::numeric_limits<std::uint64_t>::max();
  std::exception_ptr failure_;
};

}  // namespace

int scan_workers(const ContainerReader& tensor, const ScanRequest& request, int threads) {
  const TensorSizes sizes = measure_tensor(tensor);
  const std::uint64_t fixed = overhead_bytes + sizes.table_bytes + request.fixed_bytes;
  const std::uint64_t each = thread_bytes + request.worker_bytes + sizes.largest_buffer() + sizes.largest_scratch();
  if (request.budget_bytes < fixed + each) {
    throw Error(ErrorKind::out_of_memory, tensor.path().string() + ": reading it takes at least " +
                                              format_bytes(fixed + each) + " of memory, and the budget is " +
                                              format_bytes(request.budget_bytes) + "; give --host-memory " +
                                              as_budget(fixed + each) + " or more");
  }
  const std::uint64_t most = std::min((request.budget_bytes - fixed) / each, tensor.info().chunk_count());
  const auto wanted = static_cast<std::uint64_t>(threads > 0 ? threads : ThreadPool(0).width());
  return static_cast<int>(std::min(wanted, most));
}

void scan_chunks(const ContainerReader& tensor, const ScanRequest& request, int workers,
                 const std::function<void(std::size_t, const ChunkView&)>& visit, const ProgressCallback& progress) {
  Scan(tensor, request, visit, progress).run(workers);
}

}  // namespace blco
