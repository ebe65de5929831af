// Stands in for CUB's header of this name: the one scan that blco takes from it, for whole warps.
#pragma once

#include "tests/simt/device_functions.hpp"

namespace cub {

template <simt::Word T>
class WarpScan {
 public:
  struct TempStorage {};

  explicit WarpScan(TempStorage&) {}

  void ExclusiveSum(T input, T& output, const simt::Site& site = simt::Site::current()) {
    simt::exchange(0xffffffffu, simt::to_bits(input), site);
    output = 0;
    for (unsigned lane = 0; lane < simt::lane_index(); ++lane) output += simt::from_bits<T>(simt::received(lane));
  }
};

}  // namespace cub
