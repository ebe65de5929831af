// An executor for tests of the lower rooms: fresh threads for every run, so that sanitizers see plain starts and joins.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "blco/executor.hpp"

namespace blco {

class ThreadExecutor final : public Executor {
 public:
  explicit ThreadExecutor(int width) : width_(width) {}

  int width() const override { return width_; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    if (width_ == 1) {
      for (std::size_t i = 0; i < count; ++i) task(i);
      return;
    }
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&] {
      for (std::size_t i = next++; i < count; i = next++) {
        try {
          task(i);
        } catch (...) {
          const std::scoped_lock lock(mutex);
          if (!failure) failure = std::current_exception();
          next = count;
        }
      }
    };
    {
      std::vector<std::jthread> threads;
      for (int t = 1; t < width_; ++t) threads.emplace_back(work);
      work();
    }
    if (failure) std::rethrow_exception(failure);
  }

 private:
  int width_;
};

}  // namespace blco
