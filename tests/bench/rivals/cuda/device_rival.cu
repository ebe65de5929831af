#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "blco/refuse.hpp"
#include "tests/bench/rivals/cuda/device_families.hpp"
#include "tests/bench/rivals/rival_families.hpp"

namespace blco {
namespace {

constexpr int most_team_warps = 32;

bool is_power_of_two_between(int least, int number, int most) {
  return number >= least && number <= most && std::has_single_bit(static_cast<unsigned>(number));
}

void check_knobs(RivalKind kind, const RivalKnobs& knobs) {
  const int most_threads = kind == RivalKind::fcoo ? 1024 : 512;
  if (!is_power_of_two_between(32, knobs.block_threads, most_threads)) {
    refuse("block_threads is " + std::to_string(knobs.block_threads) + "; it must be a power of two from 32 to " +
           std::to_string(most_threads));
  }
  if (kind == RivalKind::fcoo && knobs.thread_nonzeros < 1) {
    refuse("thread_nonzeros is " + std::to_string(knobs.thread_nonzeros) + "; it must be at least 1");
  }
  if (kind == RivalKind::mm_csf && !is_power_of_two_between(1, knobs.warps_per_fiber, most_team_warps)) {
    refuse("warps_per_fiber is " + std::to_string(knobs.warps_per_fiber) + "; it must be a power of two from 1 to " +
           std::to_string(most_team_warps));
  }
}

template <class T>
std::unique_ptr<Rival> make(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                            Executor& executor) {
  constexpr std::array coo{RivalKind::coo_atomic, RivalKind::coo_line, RivalKind::coo_perm};
  if (std::ranges::find(coo, kind) != coo.end()) return cuda::make_device_coo<T>(kind, tensor, options, executor);
  if (kind == RivalKind::fcoo) return cuda::make_device_fcoo<T>(tensor, options, executor);
  return cuda::make_device_csf<T>(kind, tensor, options, executor);
}

}  // namespace

std::unique_ptr<Rival> make_device_rival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                         Executor& executor) {
  check_knobs(kind, options.knobs);
  if (options.precision == Precision::f32) return make<float>(kind, tensor, options, executor);
  return make<double>(kind, tensor, options, executor);
}

}  // namespace blco
