// Two ways to read ahead: threads that wait for the disk, or pieces between the tasks of the computing threads.
#include "engine/stream/read_ahead.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "blco/error.hpp"

namespace blco {
namespace {

using Clock = std::chrono::steady_clock;

// A slot is free once the read `slots` before has been submitted. The ring is the bounded queue between disk and
// compute, as deep as there are slots.
class ThreadedReads final : public ReadAhead {
 public:
  ThreadedReads(ReadSetup setup, ReadOrder order)
      : setup_(std::move(setup)), order_(std::move(order)), read_(setup_.slots) {
    const std::size_t readers = setup_.scratch.size();
    const std::size_t wanted = order_.queue != nullptr ? readers : std::min(readers, order_.own.size());
    has_ended_ = wanted == 0;
    try {
      for (std::size_t reader = 0; reader < wanted; ++reader) threads_.emplace_back([this, reader] { work(reader); });
    } catch (const std::system_error&) {
      // One reader is enough to continue.
      if (threads_.empty()) {
        throw Error(ErrorKind::out_of_memory,
                    "cannot start a thread that reads the container; raise the limit on threads (ulimit -u)");
      }
    }
  }

  ~ThreadedReads() override {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }

  std::optional<ReadChunk> wait() override {
    std::unique_lock lock(mutex_);
    for (;; ++submitted_) {
      std::optional<Slot>& slot = read_[submitted_ % setup_.slots];
      const auto is_over = [&] { return submitted_ >= failed_read_ || (has_ended_ && submitted_ >= next_); };
      changed_.wait(lock, [&] { return slot.has_value() || is_over(); });
      if (submitted_ >= failed_read_) std::rethrow_exception(failure_);
      if (!slot) return std::nullopt;
      if (*slot) return **slot;
      slot.reset();
    }
  }

  void submitted() override {
    const std::lock_guard lock(mutex_);
    read_[submitted_++ % setup_.slots].reset();
    changed_.notify_all();
  }

 private:
  using Slot = std::optional<ReadChunk>;  // none: no chunk was left for it

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
    const std::size_t slot = read % setup_.slots;
    setup_.await_slot(slot);
    Slot filled;
    if (const std::optional<std::uint64_t> chunk = order_.take(read)) {
      const std::optional<ChunkView> packed = order_.packed(*chunk);
      filled = ReadChunk{*chunk, packed.value_or(ChunkView{}), slot};
      if (!packed) {
        const std::span<std::byte> destination = setup_.destination(*chunk, slot);
        const auto begin = Clock::now();
        filled->view = setup_.tensor->read_chunk(*chunk, destination, setup_.scratch[reader]);
        setup_.ended(reader, *chunk, begin, Clock::now());
      }
    }
    const std::lock_guard lock(mutex_);
    has_ended_ |= !filled;
    read_[slot].emplace(filled);
    changed_.notify_all();
  }

  // The next read, once its slot is free; none at the end of the pass or after a stop.
  std::optional<std::size_t> take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return stopped_ || has_ended_ || next_ < submitted_ + setup_.slots; });
    return stopped_ || has_ended_ ? std::nullopt : std::optional(next_++);
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

  ReadSetup setup_;
  ReadOrder order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::optional<Slot>> read_;  // per slot
  std::size_t next_ = 0;
  std::size_t submitted_ = 0;
  bool stopped_ = false;
  bool has_ended_ = false;  // the order has no more
  std::size_t failed_read_ = std::numeric_limits<std::size_t>::max();  // the first failed read
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

// A chunk is announced to the system this many reads ahead of its own.
constexpr std::size_t announced_reads = 4;

class CooperativeReads final : public ReadAhead {
 public:
  CooperativeReads(ReadSetup setup, ReadOrder order, SideJobs& jobs)
      : setup_(std::move(setup)), order_(std::move(order)), jobs_(&jobs) {
    for (std::size_t read = 0; read < announced_reads; ++read) announce(read);
  }

  // If the pass has failed, drops the remaining jobs, which refer to this object.
  ~CooperativeReads() override { jobs_->clear(); }

  std::optional<ReadChunk> wait() override {
    if (!taken_) start_next();
    std::optional<ReadChunk> read = std::exchange(taken_, std::nullopt);
    if (!read) return read;
    if (current_ != nullptr) {
      if (pieces_left_ > 0) jobs_->finish();
      read->view = current_->finish();
      setup_.ended(0, read->chunk, begun_, ended_);
    }
    if (setup_.slots > 1) start_next();
    return read;
  }

  void submitted() override {
    if (setup_.slots == 1) start_next();
  }

 private:
  void announce(std::size_t read) const {
    const std::optional<std::uint64_t> chunk = order_.peek(read, next_);
    if (chunk && !order_.packed(*chunk)) setup_.tensor->announce_read(*chunk);
  }

  // Its slot is free: all earlier reads but at most one are submitted.
  void start_next() {
    announce(next_ + announced_reads);
    current_.reset();
    const std::size_t slot = next_ % setup_.slots;
    setup_.await_slot(slot);
    const std::optional<std::uint64_t> chunk = order_.take(next_);
    if (!chunk) return;
    ++next_;
    const std::optional<ChunkView> packed = order_.packed(*chunk);
    taken_ = ReadChunk{*chunk, packed.value_or(ChunkView{}), slot};
    if (packed) return;
    current_ = setup_.tensor->begin_read(*chunk, setup_.destination(*chunk, slot), setup_.scratch.front());
    pieces_left_ = current_->pieces();
    has_begun_ = false;
    for (std::size_t piece = 0; piece < current_->pieces(); ++piece) {
      jobs_->add([this, piece] { read_piece(piece); });
    }
  }

  void read_piece(std::size_t piece) {
    if (!has_begun_.exchange(true)) begun_ = Clock::now();
    current_->read(piece);
    if (--pieces_left_ == 0) ended_ = Clock::now();
  }

  ReadSetup setup_;
  ReadOrder order_;
  SideJobs* jobs_;
  std::size_t next_ = 0;
  std::optional<ReadChunk> taken_;      // not yet waited for
  std::unique_ptr<ChunkRead> current_;  // of it, unless it lies packed in memory
  std::atomic<std::size_t> pieces_left_ = 0;
  std::atomic<bool> has_begun_ = false;
  Clock::time_point begun_;
  Clock::time_point ended_;
};

}  // namespace

std::optional<std::uint64_t> ReadOrder::take(std::size_t read) const {
  if (read < own.size()) return own[read];
  return queue == nullptr ? std::nullopt : queue->take(worker);
}

std::optional<std::uint64_t> ReadOrder::peek(std::size_t read, std::size_t next) const {
  if (read < own.size()) return own[read];
  return queue == nullptr ? std::nullopt : queue->peek(worker, read - std::max(next, own.size()));
}

std::optional<ChunkView> ReadOrder::packed(std::uint64_t chunk) const {
  return queue == nullptr ? std::nullopt : queue->packed(chunk);
}

std::unique_ptr<ReadAhead> read_by_threads(const ReadSetup& setup, ReadOrder order) {
  return std::make_unique<ThreadedReads>(setup, std::move(order));
}

std::unique_ptr<ReadAhead> read_cooperatively(const ReadSetup& setup, ReadOrder order, SideJobs& jobs) {
  return std::make_unique<CooperativeReads>(setup, std::move(order), jobs);
}

}  // namespace blco
