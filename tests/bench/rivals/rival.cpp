#include "tests/bench/rivals/rival.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <utility>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "kernels/host/row_matrix.hpp"
#include "tests/bench/rivals/rival_families.hpp"

namespace blco {
namespace {

constexpr std::array kinds{RivalKind::alto,           RivalKind::coo_atomic, RivalKind::coo_line, RivalKind::coo_single,
                           RivalKind::coo_duplicated, RivalKind::coo_perm,   RivalKind::fcoo,     RivalKind::csf_one,
                           RivalKind::csf_all,        RivalKind::b_csf,      RivalKind::hb_csf,   RivalKind::mm_csf};
constexpr std::array names{"alto", "coo-atomic", "coo-line", "coo-single", "coo-duplicated", "coo-perm",
                           "fcoo", "csf-one",    "csf-all",  "b-csf",      "hb-csf",         "mm-csf"};
static_assert(kinds.size() == names.size());

// Of each nonzero, while lines are sorted (sorted_lines.hpp).
constexpr std::uint64_t sorting_bytes = 68;
// Locks, cuts, counts of digits, and what arrays waste of their last pages.
constexpr std::uint64_t small_bytes = std::uint64_t{2} << 20;

int line_bits_of(std::span<const std::uint64_t> shape) {
  int bits = 0;
  for (const std::uint64_t length : shape) bits += static_cast<int>(std::bit_width(length - 1));
  return bits;
}

bool sorts_lines(RivalKind kind) { return kind == RivalKind::alto || kind == RivalKind::coo_line; }

}  // namespace

std::span<const RivalKind> every_rival() { return kinds; }

const char* name_of(RivalKind kind) {
  return names[static_cast<std::size_t>(std::ranges::find(kinds, kind) - kinds.begin())];
}

std::string why_no_rival(RivalKind kind, std::span<const std::uint64_t> shape, std::uint64_t nnz,
                         const RivalOptions& options) {
  const std::string name = name_of(kind);
  const auto order = static_cast<int>(shape.size());
  if (options.precision == Precision::mixed) return name + " has no mixed precision";
  if (order < 2 || order > most_rival_modes) {
    return name + " has orders 2 to " + std::to_string(most_rival_modes) + ", and the tensor has " +
           std::to_string(order);
  }
  if (nnz >= std::numeric_limits<std::uint32_t>::max()) return name + " counts nonzeros in 32 bits";
  if (std::ranges::max(shape) > std::uint64_t{1} << 32) return name + " has coordinates of 32 bits";
  if (kind == RivalKind::alto && (order < 3 || order > 5)) return "alto has orders 3 to 5";
  if (kind == RivalKind::alto && !has_fast_pext()) return "alto requires a CPU with a fast pext";
  if (sorts_lines(kind) && line_bits_of(shape) > max_line_bits) {
    return name + " has lines of up to " + std::to_string(max_line_bits) + " bits";
  }
  if (kind == RivalKind::fcoo && options.knobs.thread_nonzeros < 1) return "fcoo has at least 1 nonzero per thread";
  if (!options.on_device) return {};
  if (kind == RivalKind::alto || kind == RivalKind::coo_single || kind == RivalKind::coo_duplicated) {
    return name + " is a format for CPUs";
  }
  return {};
}

std::vector<RivalKnobs> knobs_to_try(RivalKind kind, bool on_device) {
  std::vector<RivalKnobs> tries{{}};
  const auto vary = [&tries](auto field,
                             std::initializer_list<std::remove_reference_t<decltype(RivalKnobs{}.*field)>> values) {
    const std::vector<RivalKnobs> before = std::exchange(tries, {});
    for (const RivalKnobs& knobs : before) {
      for (const auto value : values) {
        tries.push_back(knobs);
        tries.back().*field = value;
      }
    }
  };
  const bool splits = kind == RivalKind::b_csf || kind == RivalKind::hb_csf || kind == RivalKind::mm_csf;
  if (splits) vary(&RivalKnobs::fiber_limit, {128, 0});
  if (kind == RivalKind::mm_csf) vary(&RivalKnobs::every_leaf, {false, true});
  if (!on_device) return tries;
  if (kind == RivalKind::fcoo) vary(&RivalKnobs::thread_nonzeros, {16, 8, 32, 64});
  if (kind == RivalKind::fcoo) vary(&RivalKnobs::block_threads, {128, 32, 512, 1024});
  if (splits) vary(&RivalKnobs::block_threads, {512, 128});
  if (kind == RivalKind::mm_csf) vary(&RivalKnobs::warps_per_fiber, {4, 1, 2, 8, 16});
  return tries;
}

std::uint64_t most_rival_bytes(std::span<const std::uint64_t> shape, std::uint64_t nnz, int rank, int threads) {
  const std::uint64_t order = shape.size();
  // A tree and values for every mode, or lines while they are sorted.
  const std::uint64_t of_nonzero = order * (2 * order * sizeof(std::uint32_t) + sizeof(double)) + sorting_bytes;
  // Factors, and an output of each thread; arrays are whole pages.
  const std::uint64_t rows = std::accumulate(shape.begin(), shape.end(), std::uint64_t{0}) +
                             static_cast<std::uint64_t>(threads + 1) * std::ranges::max(shape);
  return nnz * of_nonzero + rows * padded_rank<double>(rank) * sizeof(double) + small_bytes;
}

std::unique_ptr<Rival> make_rival(RivalKind kind, const RivalTensor& tensor, const RivalOptions& options,
                                  Executor& executor) {
  const std::string reason = why_no_rival(kind, tensor.shape, tensor.nnz(), options);
  if (!reason.empty()) throw Error(ErrorKind::invalid_argument, reason);
  if (options.on_device) return make_device_rival(kind, tensor, options, executor);
  switch (kind) {
    case RivalKind::alto:
      return make_alto_rival(tensor, options, executor);
    case RivalKind::coo_atomic:
    case RivalKind::coo_line:
    case RivalKind::coo_single:
    case RivalKind::coo_duplicated:
    case RivalKind::coo_perm:
      return make_coo_rival(kind, tensor, options, executor);
    case RivalKind::fcoo:
      return make_fcoo_rival(tensor, options, executor);
    default:
      return make_csf_rival(kind, tensor, options, executor);
  }
}

}  // namespace blco
