// The engine's threads, lent to the lower rooms as an Executor.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "blco/executor.hpp"

namespace blco {

// Those that this process may use, and its control groups have time for; so many processes have equal parts of them. At
// least 1. `root` holds proc and sys.
int usable_processors(int processes = 1, const std::filesystem::path& root = "/");
// Throws Error{invalid_argument} for a number of threads that no pool has.
void check_threads(int threads);

// `threads` counts the caller's own, at most 4096; 0 means one per processor that this process may use. The others
// start with the first run() of several tasks, which throws Error{out_of_memory} if the system provides fewer.
class ThreadPool final : public Executor {
 public:
  explicit ThreadPool(int threads = 0);
  ~ThreadPool() override;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int width() const override { return width_; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override;

 private:
  void start();
  void stop() noexcept;
  void work();
  void take_tasks(std::unique_lock<std::mutex>& lock);

  int width_;
  std::mutex mutex_;
  std::condition_variable started_;
  std::condition_variable done_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0;
  std::size_t next_ = 0;
  std::size_t running_ = 0;
  std::uint64_t round_ = 0;
  std::exception_ptr failure_;
  bool stop_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace blco
