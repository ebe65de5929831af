// Background jobs: the first thread that runs out of tasks in a run takes them, so that no thread idles while another
// is late.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "blco/executor.hpp"

namespace blco {

class SideJobs final : public Executor {
 public:
  // `inner` must outlive this.
  explicit SideJobs(Executor& inner) : inner_(inner) {}

  int width() const override { return inner_.width(); }

  // Adds a job for the next run() or finish(). It must not throw. Do not call from a task or a job.
  void add(std::function<void()> job) { jobs_.push_back(std::move(job)); }

  void run(std::size_t count, const std::function<void(std::size_t)>& task) override;

  // Runs the added jobs now.
  void finish();
  // Drops the added jobs.
  void clear() { jobs_.clear(); }

 private:
  Executor& inner_;
  std::vector<std::function<void()>> jobs_;
};

inline void SideJobs::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  const auto jobs = std::exchange(jobs_, {});
  if (jobs.empty()) return inner_.run(count, task);
  inner_.run(count + jobs.size(), [&](std::size_t i) { i < count ? task(i) : jobs[i - count](); });
}

inline void SideJobs::finish() {
  run(0, [](std::size_t) {});
}

}  // namespace blco
