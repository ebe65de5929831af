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
  ThreadedReads(ReadSetup setup, std::vector<std::uint64_t> chunks)
      : setup_(std::move(setup)), chunks_(std::move(chunks)), views_(chunks_.size()), ready_(chunks_.size(), false) {
    const auto wanted = std::min<std::size_t>(setup_.scratch.size(), chunks_.size());
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

  ChunkView wait(std::size_t read) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_[read] || read >= failed_read_; });
    if (!ready_[read]) std::rethrow_exception(failure_);
    return views_[read];
  }

  void submitted() override {
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
    const std::uint64_t chunk = chunks_[read];
    const std::span<std::byte> destination = setup_.destination(chunk, read % setup_.slots);
    const auto begin = Clock::now();
    const ChunkView view = setup_.tensor->read_chunk(chunk, destination, setup_.scratch[reader]);
    setup_.ended(reader, chunk, begin, Clock::now());
    const std::lock_guard lock(mutex_);
    views_[read] = view;
    ready_[read] = true;
    changed_.notify_all();
  }

  // The next read, once its slot is free; none at the end of the pass or after a stop.
  std::optional<std::size_t> take() {
    std::unique_lock lock(mutex_);
    if (stopped_ || next_ == chunks_.size()) return std::nullopt;
    const std::size_t read = next_++;
    const auto slot_is_free = [&] { return read < submitted_ + setup_.slots; };
    changed_.wait(lock, [&] { return stopped_ || slot_is_free(); });
    return slot_is_free() ? std::optional(read) : std::nullopt;
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
  std::vector<std::uint64_t> chunks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ChunkView> views_;
  std::vector<bool> ready_;
  std::size_t next_ = 0;
  std::size_t submitted_ = 0;
  bool stopped_ = false;
  std::size_t failed_read_ = std::numeric_limits<std::size_t>::max();  // the first failed read
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

// A chunk is announced to the system this many reads ahead of its own.
constexpr std::size_t announced_reads = 4;

class CooperativeReads final : public ReadAhead {
 public:
  CooperativeReads(ReadSetup setup, std::vector<std::uint64_t> chunks, SideJobs& jobs)
      : setup_(std::move(setup)), chunks_(std::move(chunks)), jobs_(&jobs) {
    for (std::size_t read = 0; read < std::min(announced_reads, chunks_.size()); ++read) announce(read);
  }

  // If the pass has failed, drops the remaining jobs, which refer to this object.
  ~CooperativeReads() override { jobs_->clear(); }

  ChunkView wait(std::size_t read) override {
    if (current_ == nullptr) start_next();
    if (pieces_left_ > 0) jobs_->finish();
    const ChunkView view = current_->finish();
    setup_.ended(0, chunks_[read], begun_, ended_);
    next_ = read + 1;
    if (setup_.slots > 1) start_next();
    return view;
  }

  void submitted() override {
    if (setup_.slots == 1) start_next();
  }

 private:
  void announce(std::size_t read) const { setup_.tensor->announce_read(chunks_[read]); }

  // Its slot is free: all earlier reads but at most one are submitted.
  void start_next() {
    if (next_ == chunks_.size()) return;
    if (next_ + announced_reads < chunks_.size()) announce(next_ + announced_reads);
    const std::span<std::byte> destination = setup_.destination(chunks_[next_], next_ % setup_.slots);
    current_ = setup_.tensor->begin_read(chunks_[next_], destination, setup_.scratch.front());
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
  std::vector<std::uint64_t> chunks_;
  SideJobs* jobs_;
  std::size_t next_ = 0;
  std::unique_ptr<ChunkRead> current_;
  std::atomic<std::size_t> pieces_left_ = 0;
  std::atomic<bool> has_begun_ = false;
  Clock::time_point begun_;
  Clock::time_point ended_;
};

}  // namespace

std::unique_ptr<ReadAhead> read_by_threads(const ReadSetup& setup, std::vector<std::uint64_t> chunks) {
  return std::make_unique<ThreadedReads>(setup, std::move(chunks));
}

std::unique_ptr<ReadAhead> read_cooperatively(const ReadSetup& setup, std::vector<std::uint64_t> chunks,
                                              SideJobs& jobs) {
  return std::make_unique<CooperativeReads>(setup, std::move(chunks), jobs);
}

}  // namespace blco
