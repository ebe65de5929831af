// Jobs that are done beside other work: whichever thread is first through with the tasks of a run takes them, so that
// no thread waits while another is late.
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

  // A job that the next run() or finish() does. It throws nothing. Not from a task or a job.
  void add(std::function<void()> job) { jobs_.push_back(std::move(job)); }

  void run(std::size_t count, const std::function<void(std::size_t)>& task) override;

  // Does now what was added.
  void finish();
  // Forgets what was added.
  void clear() { jobs_.clear(); }

 private:
  Executor& inner_;
  std::vector<std::function<void()>> jobs_;
};

}  // namespace blco
