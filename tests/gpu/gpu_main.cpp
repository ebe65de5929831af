// Runs the tests if there is a GPU, and else says why it does not.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "kernels/cuda_backend.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const blco::DeviceSearch found = blco::find_device();
  if (!found.limits) {
    const std::string remedy = found.remedy.empty() ? "" : "; " + found.remedy;
    std::printf("SKIPPED: no GPU: %s%s\n", found.reason.c_str(), remedy.c_str());
    return 77;
  }
  std::printf("on %s, %d multiprocessors\n", found.limits->name.c_str(), found.limits->multiprocessors);
  return RUN_ALL_TESTS();
}
