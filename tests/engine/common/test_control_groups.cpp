// Limits of planted control groups: both versions, nested, beside others, partly mounted.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/common/control_groups.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

// A machine with 64 GiB of memory, of which 32 are available, and the processors of this one.
class ControlGroups : public testing::Test {
 protected:
  ControlGroups() { plant("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\n"); }

  void plant(const std::string& file, const std::string& text) {
    std::filesystem::create_directories((root_ / file).parent_path());
    root_.write(file, text + "\n");
  }
  static std::string mib(std::uint64_t count) { return std::to_string(count * mebibyte); }

  GroupLimits limits() const { return read_group_limits(root_.path()); }
  std::uint64_t budget() const { return default_host_bytes(root_.path()); }

  TemporaryFolder root_;
};

TEST_F(ControlGroups, LimitNothingWhereThereAreNone) {
  EXPECT_EQ(limits().memory_bytes, GroupLimits::none);
  EXPECT_EQ(budget(), (std::uint64_t{32} << 30) / 10 * 8);
  EXPECT_EQ(usable_processors(1, root_.path()), usable_processors(1, root_ / "nowhere"));
}

// As in a batch job of SLURM: the root has no limit, the job's group has one, and its steps below have none.
TEST_F(ControlGroups, OfVersion1CountBelowTheRoot) {
  const std::string memory = "sys/fs/cgroup/memory";
  plant("proc/self/cgroup",
        "9:cpu,cpuacct:/slurm/job_7\n4:memory:/slurm/job_7/step_0\n1:name=systemd:/user.slice\n0::/");
  plant(memory + "/memory.limit_in_bytes", "9223372036854771712");
  plant(memory + "/slurm/job_7/memory.limit_in_bytes", mib(512));
  plant(memory + "/slurm/job_7/step_0/memory.limit_in_bytes", "9223372036854771712");
  plant("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "150000");
  plant("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "100000");
  plant("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "-1");
  plant("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_period_us", "100000");

  EXPECT_EQ(limits().memory_bytes, 512 * mebibyte);
  EXPECT_EQ(budget(), 512 * mebibyte / 10 * 8);
  EXPECT_EQ(limits().processors, 2);
}

// The lowest limit is a parent's, and the group below has a limit to which it is throttled.
TEST_F(ControlGroups, OfVersion2CountWithAllAbove) {
  const std::string base = "sys/fs/cgroup";
  plant("proc/self/cgroup", "0::/pod/container");
  plant(base + "/pod/memory.max", mib(300));
  plant(base + "/pod/container/memory.max", mib(400));
  plant(base + "/pod/cpu.max", "max 100000");
  plant(base + "/pod/container/cpu.max", "50000 100000");

  EXPECT_EQ(limits().memory_bytes, 300 * mebibyte);
  EXPECT_EQ(limits().processors, 1);
  EXPECT_EQ(usable_processors(1, root_.path()), 1);
  plant(base + "/pod/container/memory.high", mib(200));
  EXPECT_EQ(limits().memory_bytes, 200 * mebibyte);
}

TEST_F(ControlGroups, LeaveWhatOthersDoNotUseButForCachedFiles) {
  plant("proc/self/cgroup", "0::/shared/mine");
  plant("sys/fs/cgroup/shared/memory.max", mib(1000));
  plant("sys/fs/cgroup/shared/memory.current", mib(900));
  plant("sys/fs/cgroup/shared/memory.stat", "anon " + mib(600) + "\nfile " + mib(290) + "\nshmem " + mib(40) +
                                                "\ninactive_file " + mib(200) + "\nactive_file " + mib(50) +
                                                "\nslab_reclaimable " + mib(10));
  plant("sys/fs/cgroup/shared/mine/memory.max", mib(800));
  plant("sys/fs/cgroup/shared/mine/memory.current", mib(20));

  EXPECT_EQ(limits().memory_bytes, 800 * mebibyte);
  EXPECT_EQ(limits().free_bytes, (1000 - (900 - 260)) * mebibyte);
  EXPECT_EQ(budget(), 360 * mebibyte / 10 * 8);
  plant("sys/fs/cgroup/shared/memory.current", mib(2000));  // the limit was lowered meanwhile
  EXPECT_EQ(budget(), 0);
}

// Version 1 counts what the groups below hold under names of their own.
TEST_F(ControlGroups, OfVersion1LeaveWhatOthersDoNotUse) {
  const std::string group = "sys/fs/cgroup/memory/job";
  plant("proc/self/cgroup", "4:memory:/job");
  plant(group + "/memory.limit_in_bytes", mib(600));
  plant(group + "/memory.usage_in_bytes", mib(500));
  plant(group + "/memory.stat", "inactive_file 0\nactive_file 0\nhierarchical_memory_limit " + mib(450) +
                                    "\ntotal_inactive_file " + mib(300) + "\ntotal_active_file " + mib(100));

  EXPECT_EQ(limits().memory_bytes, 450 * mebibyte);
  EXPECT_EQ(limits().free_bytes, 450 * mebibyte);
  plant(group + "/memory.usage_in_bytes", mib(700));
  EXPECT_EQ(limits().free_bytes, 300 * mebibyte);
}

// A container without a namespace of its own sees its group at the top of the mount, and the full path beside it.
TEST_F(ControlGroups, AreFoundWhereAPartIsMounted) {
  plant("proc/self/cgroup", "4:memory:/docker/abc/worker\n3:cpu:/elsewhere");
  plant("proc/self/mountinfo",
        "35 31 0:32 /docker/abc /cgroups/memory ro,relatime master:11 - cgroup cgroup rw,memory\n"
        "36 31 0:33 /docker/abc /cgroups/time ro,relatime - cgroup cgroup rw,cpuacct,cpu\n"
        "37 31 0:34 / /proc rw - proc proc rw");
  plant("cgroups/memory/worker/memory.limit_in_bytes", mib(700));
  plant("cgroups/memory/memory.limit_in_bytes", mib(900));
  plant("cgroups/time/cpu.cfs_quota_us", "300000");
  plant("cgroups/time/cpu.cfs_period_us", "100000");

  EXPECT_EQ(limits().memory_bytes, 700 * mebibyte);
  EXPECT_EQ(limits().processors, 3);
}

TEST_F(ControlGroups, MayHoldAnything) {
  for (const std::string text : {"", "0::", "::", "0", "4:memory", "0::/../../other", "0::///", "4:memory:no/slash"}) {
    plant("proc/self/cgroup", text);
    plant("proc/self/mountinfo", text);
    plant("sys/fs/cgroup/memory.max", "max");
    plant("sys/fs/cgroup/cpu.max", "0 0");
    plant("sys/fs/cgroup/memory.stat", "inactive_file");
    EXPECT_EQ(limits().memory_bytes, GroupLimits::none) << text;
  }
}

}  // namespace
}  // namespace blco
