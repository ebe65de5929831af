// Readers fill the ring of lanes in the order of the pass; the caller's thread submits in the same order.
#include "engine/streamer.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "blco/error.hpp"

namespace blco {

// The reads of one pass. Read j goes to lane j modulo the number of lanes, so a lane is free again when read
// j - lanes has been submitted; the ring is the bounded queue between disk and compute.
class Streamer::Readers {
 public:
  Readers(Streamer& streamer, std::vector<std::uint64_t> chunks)
      : streamer_(&streamer), chunks_(std::move(chunks)), views_(chunks_.size()), ready_(chunks_.size(), false) {
    const auto wanted = std::min<std::size_t>(streamer.scratch_.size(), chunks_.size());
    try {
      for (std::size_t reader = 0; reader < wanted; ++reader) threads_.emplace_back([this, reader] { work(reader); });
    } catch (const std::system_error&) {
      // One reader is enough to go on.
      if (threads_.empty()) throw Error(ErrorKind::out_of_memory, "cannot start a thread that reads the container");
    }
  }

  ~Readers() {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }

  int lane(std::size_t read) const { return static_cast<int>(read % streamer_->lanes_.size()); }

  // Waits for a read to end. All reads before one that failed still end well; from that one on, its error is thrown.
  const ChunkView& wait(std::size_t read) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_[read] || read >= failed_read_; });
    if (!ready_[read]) std::rethrow_exception(failure_);
    return views_[read];
  }

  void submitted() {
    const std::lock_guard lock(mutex_);
    ++submitted_;
    changed_.notify_all();
  }

 private:
  void work(std::size_t reader) {
    for (std::optional<std::size_t> read = take(); read; read = take()) {
      try {
        fill(*read, reader);
      } catch (...) {
        fail(*read, std::current_exception());
      }
    }
  }

  void fill(std::size_t read, std::size_t reader) {
    streamer_->backend_->wait_lane(lane(read));
    const std::uint64_t chunk = chunks_[read];
    const auto begin = std::chrono::steady_clock::now();
    const ChunkView view =
        streamer_->tensor_->read_chunk(chunk, streamer_->destination(chunk, lane(read)), streamer_->scratch_[reader]);
    streamer_->trace("reader " + std::to_string(reader), "read", begin, chunk, streamer_->stored_bytes(chunk));
    const std::lock_guard lock(mutex_);
    views_[read] = view;
    ready_[read] = true;
    changed_.notify_all();
  }

  // The next read once its lane is free; none at the end of the pass or when it is stopped.
  std::optional<std::size_t> take() {
    std::unique_lock lock(mutex_);
    if (stopped_ || next_ == chunks_.size()) return std::nullopt;
    const std::size_t read = next_++;
    const auto lane_is_free = [&] { return read < submitted_ + streamer_->lanes_.size(); };
    changed_.wait(lock, [&] { return stopped_ || lane_is_free(); });
    return lane_is_free() ? std::optional(read) : std::nullopt;
  }

  void fail(std::size_t read, std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (read < failed_read_) {
      failed_read_ = read;
      failure_ = std::move(failure);
    }
    changed_.notify_all();
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }

  Streamer* streamer_;
  std::vector<std::uint64_t> chunks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChunkView> views_;
  std::vector<bool> ready_;
  std::size_t next_ = 0;
  std::size_t submitted_ = 0;
  bool stopped_ = false;
  std::size_t failed_read_ = std::numeric_limits<std::size_t>::max();  // the first of them
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

Streamer::Streamer(const ChunkSource& tensor, const Plan& plan, Backend& backend, TraceSink* trace,
                   ProgressMeter* meter)
    : tensor_(&tensor), plan_(&plan), backend_(&backend), trace_(trace), meter_(meter), residents_(plan.tiers.size()) {
  for (int lane = 0; lane < plan.lanes; ++lane) lanes_.push_back(backend.allocate_host(plan.lane_bytes));
  scratch_.assign(static_cast<std::size_t>(plan.readers), std::vector<std::byte>(plan.scratch_bytes));
  for (std::uint64_t chunk = 0; chunk < plan.tiers.size(); ++chunk) {
    if (plan.tiers[chunk] == Tier::packed) {
      residents_[chunk].buffer = backend.allocate_host(tensor.buffer_bytes(chunk));
    }
  }
}

Streamer::~Streamer() {
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    try {
      backend_->wait_lane(static_cast<int>(lane));
    } catch (...) {
      // A device that failed copies nothing more, and its error has been thrown by the pass.
    }
  }
}

void Streamer::pass(int mode, Direction direction) {
  try {
    run_pass(mode, direction);
  } catch (...) {
    drain();
    throw;
  }
}

// Copies in flight read the lanes and the packed chunks; a finished pass has none.
void Streamer::drain() noexcept {
  try {
    backend_->finish_pass();
  } catch (...) {
    // The error that ended the pass is the one that its caller hears of.
  }
}

void Streamer::run_pass(int mode, Direction direction) {
  const std::uint64_t count = plan_->tiers.size();
  const auto chunk_at = [&](std::uint64_t i) { return direction == Direction::forward ? i : count - 1 - i; };
  std::vector<std::uint64_t> reads;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (needs_read(chunk_at(i))) reads.push_back(chunk_at(i));
  }

  const auto pass_begin = std::chrono::steady_clock::now();
  Readers readers(*this, std::move(reads));
  std::size_t read = 0;
  backend_->begin_pass(mode);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t chunk = chunk_at(i);
    const std::uint64_t nnz = tensor_->info().nnz_of_chunk(chunk);
    if (!needs_read(chunk)) {
      backend_->submit_resident(*residents_[chunk].id);
      if (meter_ != nullptr) meter_->advance(nnz, 0);
      continue;
    }
    const auto wait_begin = std::chrono::steady_clock::now();
    const ChunkView& view = readers.wait(read);
    trace("caller", "wait for a read", wait_begin, chunk, 0);
    submit_read(chunk, readers.lane(read), view);
    readers.submitted();
    ++read;
    if (meter_ != nullptr) meter_->advance(nnz, stored_bytes(chunk));
  }
  backend_->finish_pass();
  trace("passes", "mode " + std::to_string(mode), pass_begin, 0, 0);
}

std::span<std::byte> Streamer::destination(std::uint64_t chunk, int lane) {
  HostBuffer* own = residents_[chunk].buffer.get();
  return own != nullptr ? own->bytes() : lanes_[static_cast<std::size_t>(lane)]->bytes();
}

void Streamer::submit_read(std::uint64_t chunk, int lane, const ChunkView& view) {
  bytes_read_ += stored_bytes(chunk);
  if (plan_->tiers[chunk] == Tier::streamed) {
    backend_->submit(lane, view);
    return;
  }
  const Tier tier = plan_->tiers[chunk];
  const ResidentForm form = tier == Tier::packed   ? ResidentForm::packed
                            : tier == Tier::device ? ResidentForm::device
                                                   : ResidentForm::decoded;
  residents_[chunk].id = backend_->keep(lane, view, form);
  backend_->submit_resident(*residents_[chunk].id);
}

std::uint64_t Streamer::stored_bytes(std::uint64_t chunk) const {
  std::uint64_t bytes = 0;
  for (const StoredExtent& extent : tensor_->extents(chunk)) bytes += extent.stored_bytes;
  return bytes;
}

void Streamer::trace(const std::string& track, std::string_view name, TraceTime begin, std::uint64_t chunk,
                     std::uint64_t bytes) const {
  if (trace_ != nullptr) trace_->add({track, name, begin, std::chrono::steady_clock::now(), chunk, bytes});
}

}  // namespace blco
