#include "engine/work/serving_threads.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"

namespace blco {

namespace {

std::optional<int> first_gpu(const std::vector<ThreadWorker>& workers) {
  const auto found = std::ranges::find_if(workers, [](const ThreadWorker& of) { return of.gpu.has_value(); });
  return found == workers.end() ? std::nullopt : found->gpu;
}

}  // namespace

// The messages from each worker to each.
class ServingThreads::Mail {
 public:
  void put(int from, int to, std::span<const std::byte> message) {
    std::vector<std::byte> copy(message.begin(), message.end());
    std::unique_lock lock(mutex_);
    Box& box = boxes_[{from, to}];
    changed_.wait(lock, [&] { return failure_ || box.size() < messages_on_their_way; });
    if (failure_) std::rethrow_exception(failure_);
    box.push_back(std::move(copy));
    changed_.notify_all();
  }
  std::vector<std::byte> take(int from, int to) {
    std::unique_lock lock(mutex_);
    Box& box = boxes_[{from, to}];
    changed_.wait(lock, [&] { return failure_ || !box.empty(); });
    if (failure_) std::rethrow_exception(failure_);
    std::vector<std::byte> message = std::move(box.front());
    box.pop_front();
    changed_.notify_all();
    return message;
  }
  // Hands a message over where it lies, until the other worker has taken it.
  void lend(int from, int to, std::span<const std::byte> message) {
    const std::lock_guard lock(mutex_);
    loans_[{from, to}] = {.message = message};
    changed_.notify_all();
  }
  std::span<const std::byte> borrow(int from, int to) {
    std::unique_lock lock(mutex_);
    Loan& loan = loans_[{from, to}];
    changed_.wait(lock, [&] { return failure_ || loan.message; });
    if (failure_) std::rethrow_exception(failure_);
    loan.is_read = true;
    return *loan.message;
  }
  void give_back(int from, int to) {
    const std::lock_guard lock(mutex_);
    loans_[{from, to}] = {};
    changed_.notify_all();
  }
  // After a failure nobody begins to read it.
  void await_return(int from, int to) {
    std::unique_lock lock(mutex_);
    Loan& loan = loans_[{from, to}];
    changed_.wait(lock, [&] { return !loan.message || (failure_ && !loan.is_read); });
  }
  // A worker has ended before its time: nobody waits for it, nor for another.
  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
    changed_.notify_all();
  }

 private:
  using Box = std::deque<std::vector<std::byte>>;
  struct Loan {
    std::optional<std::span<const std::byte>> message = {};
    bool is_read = false;
  };

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, int>, Box> boxes_;
  std::map<std::pair<int, int>, Loan> loans_;
  std::exception_ptr failure_;
};

class ServingThreads::Peer final : public Peers {
 public:
  Peer(ServingThreads& threads, std::size_t rank)
      : mail_(threads.mail_.get()),
        queue_(&threads.queue_),
        workers_(&threads.workers_),
        rank_(static_cast<int>(rank)) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(workers_->size()); }
  int neighbours() const override { return size(); }
  int gpu_sharers() const override { return 1; }
  double share(int rank) const override { return (*workers_)[static_cast<std::size_t>(rank)].share; }
  std::string name(int rank) const override { return (*workers_)[static_cast<std::size_t>(rank)].name; }
  void send(int to, std::span<const std::byte> message) override { mail_->put(rank_, to, message); }
  std::vector<std::byte> receive(int from) override { return mail_->take(from, rank_); }
  // Messages stay where they lie.
  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, const TakeMessage& take) override {
    for (const Outgoing& to : out) mail_->lend(rank_, to.peer, to.message);
    std::exception_ptr failure;
    for (std::size_t i = 0; i < in.size(); ++i) {
      try {
        const std::span<const std::byte> message = mail_->borrow(in[i].peer, rank_);
        check_length(in[i], message.size());
        if (!failure) take(i, message);
      } catch (...) {
        failure = std::current_exception();
      }
      mail_->give_back(in[i].peer, rank_);
    }
    for (const Outgoing& to : out) mail_->await_return(rank_, to.peer);
    if (failure) std::rethrow_exception(failure);
  }
  void leave(const Error& why) override { mail_->fail(std::make_exception_ptr(why)); }
  ChunkQueue* chunk_queue() override { return queue_; }

 private:
  Mail* mail_;
  ChunkQueue* queue_;
  const std::vector<ThreadWorker>* workers_;
  int rank_;
};

ServingThreads::ServingThreads(std::vector<ThreadWorker> workers)
    : workers_(std::move(workers)), mail_(std::make_unique<Mail>()), queue_(workers_.size(), first_gpu(workers_)) {
  for (std::size_t rank = 0; rank < size(); ++rank) {
    peers_.push_back(std::make_unique<Peer>(*this, rank));
    workers_[rank].compute.peers = peers_.back().get();
  }
}

ServingThreads::~ServingThreads() {
  try {
    if (!threads_.empty()) dismiss(lead());
  } catch (...) {
    // One has failed, and so the others end too.
  }
  for (std::thread& thread : threads_) thread.join();
}

void ServingThreads::serve(const Tensor& tensor) {
  if (!threads_.empty()) return;
  for (std::size_t rank = 1; rank < size(); ++rank) {
    const auto run = [this, &tensor, rank] {
      try {
        blco::serve([&]() -> const Tensor& { return tensor; }, compute(rank), *compute(rank).peers);
      } catch (...) {
        mail_->fail(std::current_exception());
      }
    };
    try {
      threads_.emplace_back(run);
    } catch (const std::system_error& error) {
      throw Error(ErrorKind::out_of_memory, "cannot start a thread for " + compute(rank).devices.front() + " (" +
                                                error.what() + "); lower " + option_name("threads"));
    }
  }
}

}  // namespace blco
