// The controls of the emulator where a real device runs the tests: there is nothing to steer, and nothing is counted.
#include "tests/simt/simt_control.hpp"

namespace simt {

void set_order(Order, std::uint64_t) {}
void set_policy(Policy, std::uint64_t) {}
void set_device(const DeviceProperties&) {}
void set_device(int, const DeviceProperties&) {}
std::uint64_t take_pageable_copies() { return 0; }
void fail_call(const std::string&, int, int) {}
Counters counters() { return {}; }
std::string last_failure() { return {}; }
void reset() {}

}  // namespace simt
