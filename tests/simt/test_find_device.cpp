// What is said of a GPU that this build cannot use: driver, compute capability, missing code.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cuda/machine_code.hpp"
#include "kernels/device_kind.hpp"
#include "tests/simt/simt_control.hpp"

namespace blco::testing {
namespace {

class FindDevice : public ::testing::Test {
 protected:
  FindDevice() { simt::reset(); }
  ~FindDevice() override { simt::reset(); }
};

void expect_none(const std::string& reason, const std::string& remedy) {
  const DeviceSearch found = find_device();
  EXPECT_FALSE(found.limits);
  EXPECT_EQ(found.reason, reason);
  EXPECT_EQ(found.remedy, remedy);
  EXPECT_EQ(found.kind, ErrorKind::cuda);
}

TEST_F(FindDevice, TakesWhatTheDeviceReports) {
  simt::set_device({.name = "Some GPU", .major = 12, .minor = 1, .multiprocessors = 7, .l2_bytes = 3 << 20});

  const DeviceSearch found = find_device();

  ASSERT_TRUE(found.limits);
  EXPECT_EQ(found.reason + found.remedy, "");
  EXPECT_EQ(found.limits->name, "Some GPU");
  EXPECT_EQ(found.limits->multiprocessors, 7);
  EXPECT_EQ(found.limits->l2_bytes, 3U << 20);
  EXPECT_EQ(found.limits->memory_bytes, 1U << 30);
}

// The emulator stands for a build with machine code for 8.0 and PTX for 9.0.
TEST_F(FindDevice, NamesTheComputeCapabilityOfAGpuThatIsTooOld) {
  simt::set_device({.name = "Tesla T4", .major = 7, .minor = 5});
  expect_none("the GPU Tesla T4 has compute capability 7.5; blco needs 8.0 or newer", "");

  simt::set_device({.name = "Tesla V100", .major = 7});
  expect_none("the GPU Tesla V100 has compute capability 7.0; blco needs 8.0 or newer", "");
  EXPECT_EQ(simt::counters().kernels, 0U);
}

TEST_F(FindDevice, AsksWhetherThereIsCodeForTheDevice) {
  constexpr int invalid_device_function = 98;
  constexpr int no_kernel_image = 209;
  constexpr int unsupported_ptx = 222;
  simt::set_device({.name = "New GPU", .major = 13, .minor = 2});
  for (const int error : {invalid_device_function, no_kernel_image, unsupported_ptx}) {
    simt::fail_call("cudaFuncGetAttributes", 1, error);
    expect_none("the GPU New GPU has compute capability 13.2; this build has no code for it",
                "build blco with CMAKE_CUDA_ARCHITECTURES=132 by a CUDA toolkit that supports it");
  }
  EXPECT_TRUE(find_device().limits) << "the errors are forgotten";
}

// Code for 8.0 runs on all of 8, PTX on 9.0 and what is newer.
TEST_F(FindDevice, KnowsForWhichDevicesTheDriverCompilesItsCode) {
  struct Case {
    int major;
    int minor;
    bool has_machine_code;
  };
  for (const Case& gpu :
       {Case{8, 0, true}, {8, 6, true}, {8, 9, true}, {9, 0, false}, {10, 0, false}, {12, 1, false}}) {
    simt::set_device({.major = gpu.major, .minor = gpu.minor});

    const DeviceSearch found = find_device();

    ASSERT_TRUE(found.limits);
    EXPECT_EQ(found.limits->has_machine_code, gpu.has_machine_code) << gpu.major << '.' << gpu.minor;
    EXPECT_EQ(found.limits->capability, 100 * gpu.major + 10 * gpu.minor);
  }
}

TEST(MachineCode, IsOfTheArchitecturesThatHaveMoreThanPtx) {
  struct Case {
    std::string of_cmake;
    std::vector<int> of_nvcc;
    std::vector<int> with_code;
  };
  const std::vector<int> capabilities{800, 860, 890, 900, 1000, 1030, 1200};
  for (const Case& build : {Case{"80,90", {800, 900}, {800, 860, 890, 900}},
                            {"90", {900}, {900}},
                            {"90-virtual", {900}, {}},
                            {"86-real,90-virtual", {860, 900}, {860, 890}},
                            {"80-real,90-real,90-virtual", {800, 900}, {800, 860, 890, 900}},
                            {"80-virtual,90a,100f-real,120-virtual", {800, 900, 1000, 1200}, {900, 1000, 1030}},
                            {"native", {890}, {890}},
                            {"all-major", {800, 900, 1000}, {800, 860, 890, 900, 1000, 1030}},
                            {"", {900}, {900}}}) {
    std::vector<int> with_code;
    for (const int capability : capabilities) {
      if (cuda::has_machine_code(capability, build.of_cmake, build.of_nvcc)) with_code.push_back(capability);
    }
    EXPECT_EQ(with_code, build.with_code) << build.of_cmake;
  }
}

TEST_F(FindDevice, TellsAnOldDriverFromNone) {
  simt::set_device({.driver_version = 12040});
  expect_none("the NVIDIA driver supports CUDA 12.4, but this build uses the runtime of CUDA 13.0",
              "update the driver, or use a build by a CUDA 12 toolkit");

  simt::set_device({.driver_version = 0});
  expect_none("no NVIDIA driver here", "");

  simt::set_device({.present = false});
  expect_none("the NVIDIA driver finds none", "");
}

TEST_F(FindDevice, PassesOnOtherFailuresOfTheRuntime) {
  constexpr int out_of_memory = 2;
  for (const char* call :
       {"cudaGetDeviceCount", "cudaGetDevice", "cudaGetDeviceProperties", "cudaFuncGetAttributes", "cudaMemGetInfo"}) {
    simt::fail_call(call, 1, out_of_memory);
    expect_none("out of memory: a fault that the test asked for", "");
  }
}

}  // namespace
}  // namespace blco::testing
