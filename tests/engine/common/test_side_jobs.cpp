// Jobs beside tasks: each done once, by the next run at the latest.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <stdexcept>

#include "engine/common/side_jobs.hpp"
#include "engine/common/thread_pool.hpp"

namespace blco {
namespace {

TEST(SideJobs, AreDoneOnceBesideTheTasks) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    SideJobs jobs(pool);
    EXPECT_EQ(jobs.width(), threads);
    std::array<std::atomic<int>, 7> done{};
    std::array<std::atomic<int>, 11> tasks{};
    for (std::atomic<int>& count : done) jobs.add([&count] { ++count; });

    jobs.run(tasks.size(), [&](std::size_t i) { ++tasks[i]; });
    jobs.run(tasks.size(), [&](std::size_t i) { ++tasks[i]; });

    for (const std::atomic<int>& count : done) EXPECT_EQ(count, 1);
    for (const std::atomic<int>& count : tasks) EXPECT_EQ(count, 2);
  }
}

TEST(SideJobs, CanBeFinishedWithoutTasks) {
  ThreadPool pool(2);
  SideJobs jobs(pool);
  std::atomic<int> done = 0;
  jobs.add([&] { ++done; });
  jobs.finish();
  EXPECT_EQ(done, 1);
  jobs.finish();
  EXPECT_EQ(done, 1);
}

TEST(SideJobs, AreForgottenWhenTheyAreCleared) {
  ThreadPool pool(2);
  SideJobs jobs(pool);
  jobs.add([] { ADD_FAILURE() << "a job that was cleared"; });
  jobs.clear();
  jobs.finish();
}

TEST(SideJobs, ThrowATasksError) {
  ThreadPool pool(2);
  SideJobs jobs(pool);
  std::atomic<int> done = 0;
  jobs.add([&] { ++done; });
  EXPECT_THROW(jobs.run(3, [](std::size_t) { throw std::runtime_error("task"); }), std::runtime_error);
  const int before = done;
  jobs.finish();
  EXPECT_EQ(done, before) << "a job outlived the run that failed";
}

}  // namespace
}  // namespace blco
