// Runs the tests if there is a GPU, and else says why it does not. Lists them anywhere.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "kernels/device_kind.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) return RUN_ALL_TESTS();
  const blco::DeviceSearch found = blco::find_device();
  if (!found.limits) {
    std::printf("SKIPPED: no GPU: %s\n", found.text().c_str());
    return 77;
  }
  std::printf("on %s, %d multiprocessors\n", found.limits->name.c_str(), found.limits->multiprocessors);
  return RUN_ALL_TESTS();
}
