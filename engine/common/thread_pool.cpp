// A fixed set of threads that work on the tasks of one run() at a time.
#include "engine/common/thread_pool.hpp"

#include <sched.h>

#include <algorithm>
#include <string>
#include <system_error>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/control_groups.hpp"

namespace blco {

int usable_processors(int processes, const std::filesystem::path& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool is_known = sched_getaffinity(0, sizeof(set), &set) == 0;
  const int all = is_known ? CPU_COUNT(&set) : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(all, read_group_limits(root).processors) / processes);
}

void check_threads(int threads) {
  constexpr int max_threads = 4096;
  if (threads < 0 || threads > max_threads) {
    refuse(option_name("threads") + " must be from 1 to " + std::to_string(max_threads) +
           ", or 0 for one per processor");
  }
}

ThreadPool::ThreadPool(int threads) : width_(threads == 0 ? usable_processors() : threads) { check_threads(threads); }

void ThreadPool::start() {
  workers_.reserve(static_cast<std::size_t>(width_ - 1));
  try {
    for (int i = 1; i < width_; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    stop();
    throw Error(ErrorKind::out_of_memory, "cannot start " + std::to_string(width_) + " threads (" + error.what() +
                                              "); lower " + option_name("threads"));
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() noexcept {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  started_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
}

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  if (count == 0) return;
  if (count > 1 && workers_.empty()) start();
  std::unique_lock lock(mutex_);
  task_ = &task;
  count_ = count;
  next_ = 0;
  failure_ = nullptr;
  ++round_;
  if (count > 1) started_.notify_all();
  take_tasks(lock);
  done_.wait(lock, [this] { return running_ == 0; });
  task_ = nullptr;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::work() {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    started_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    take_tasks(lock);
  }
}

void ThreadPool::take_tasks(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t mine = next_++;
    const auto* task = task_;
    ++running_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*task)(mine);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    --running_;
    if (failure) {
      if (!failure_) failure_ = failure;
      next_ = count_;
    }
  }
  if (running_ == 0) done_.notify_all();
}

}  // namespace blco
