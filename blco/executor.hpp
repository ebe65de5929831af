// How the lower rooms run work in parallel without owning threads.
#pragma once

#include <cstddef>
#include <functional>

namespace blco {

class Executor {
 public:
  virtual ~Executor() = default;

  // Number of threads that run tasks, the caller's own included. At least 1.
  virtual int width() const = 0;

  // Calls task(i) once for every i in [0, count), in any order and on any of the threads; returns when all have ended.
  // Rethrows the first exception of a task after the running ones have ended; tasks not yet started are skipped. Not
  // reentrant.
  virtual void run(std::size_t count, const std::function<void(std::size_t)>& task) = 0;
};

// Runs everything on the calling thread, in order.
class SerialExecutor final : public Executor {
 public:
  int width() const override { return 1; }
  void run(std::size_t count, const std::function<void(std::size_t)>& task) override {
    for (std::size_t i = 0; i < count; ++i) task(i);
  }
};

}  // namespace blco
