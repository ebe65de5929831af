// Runs jobs after the tasks: every thread takes tasks as long as there are some.
#include "engine/common/side_jobs.hpp"

#include <utility>

namespace blco {

void SideJobs::run(std::size_t count, const std::function<void(std::size_t)>& task) {
  const auto jobs = std::exchange(jobs_, {});
  if (jobs.empty()) return inner_.run(count, task);
  inner_.run(count + jobs.size(), [&](std::size_t i) { i < count ? task(i) : jobs[i - count](); });
}

void SideJobs::finish() {
  run(0, [](std::size_t) {});
}

}  // namespace blco
