// How the lower rooms ask for parallel work without owning threads.
#pragma once

#include <cstddef>
#include <functional>

namespace blco {

class Executor {
 public:
  virtual ~Executor() = default;

  // Number of threads that take part in run(), the caller's own included. At least 1.
  virtual int width() const = 0;

  // Calls task(i) once for every i in [0, count), in any order and on any of the threads, and returns
  // when all have ended. The first exception thrown by a task is rethrown here after the others
  // have ended; tasks not yet started are then left out. Not reentrant.
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
