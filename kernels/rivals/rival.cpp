#include "kernels/rivals/rival.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "blco/bits.hpp"
#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/rivals/fcoo_copies.hpp"
#include "kernels/rivals/fcoo_rows.hpp"
#include "kernels/rivals/rival_families.hpp"

namespace blco {
namespace {

constexpr std::array kinds{RivalKind::alto,           RivalKind::coo_atomic, RivalKind::coo_line, RivalKind::coo_single,
                           RivalKind::coo_duplicated, RivalKind::coo_perm,   RivalKind::fcoo,     RivalKind::csf_one,
                           RivalKind::csf_all,        RivalKind::b_csf,      RivalKind::hb_csf,   RivalKind::mm_csf};
constexpr std::array names{"alto", "coo-atomic", "coo-line", "coo-single", "coo-duplicated", "coo-perm",
                           "fcoo", "csf-one",    "csf-all",  "b-csf",      "hb-csf",         "mm-csf"};
static_assert(kinds.size() == names.size());

// Bytes per nonzero that sorting lines takes at most, its result included (sorted_lines.hpp).
constexpr std::uint64_t sorting_line_bytes = 68;

bool has_every_copy(RivalKind kind) {
  return kind == RivalKind::csf_all || kind == RivalKind::b_csf || kind == RivalKind::hb_csf;
}

bool is_list(RivalKind kind) {
  return kind == RivalKind::alto || kind == RivalKind::fcoo || kind == RivalKind::coo_atomic ||
         kind == RivalKind::coo_line || kind == RivalKind::coo_single || kind == RivalKind::coo_duplicated ||
         kind == RivalKind::coo_perm;
}

bool sorts_lines(RivalKind kind) { return kind == RivalKind::alto || kind == RivalKind::coo_line; }

int line_bits_of(std::span<const std::uint64_t> shape) {
  int bits = 0;
  for (const std::uint64_t length : shape) bits += static_cast<int>(std::bit_width(length - 1));
  return bits;
}

// Bytes of lists of coordinates or lines, what their construction needs included.
std::uint64_t list_bytes(RivalKind kind, std::span<const std::uint64_t> shape, std::uint64_t nnz, std::uint64_t number,
                         const RivalKnobs& knobs) {
  constexpr std::uint64_t index = sizeof(std::uint32_t);
  const std::uint64_t order = shape.size();
  const std::uint64_t pages = page_bytes * (order + 2) * (order + 2);  // arrays are whole pages, and can be read beyond
  if (kind == RivalKind::alto) return nnz * (sorting_line_bytes + number) + pages;
  if (kind == RivalKind::coo_line) return nnz * (sorting_line_bytes + order * index + number) + pages;
  if (kind == RivalKind::coo_perm) return nnz * (2 * order * index + number + 2 * index) + pages;
  if (kind != RivalKind::fcoo) return nnz * (order * index + number) + pages;
  const std::uint64_t groups = nnz / static_cast<std::uint64_t>(knobs.thread_nonzeros) + 1;
  std::uint64_t bytes = fcoo_index_bytes(order, nnz, static_cast<std::uint64_t>(knobs.thread_nonzeros)) + pages;
  // Row lists grow by doubling.
  for (const std::uint64_t length : shape) bytes += nnz * number + groups * index + 3 * index * std::min(nnz, length);
  return bytes + nnz * 2 * index;
}

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

std::uint64_t rival_bytes(RivalKind kind, std::span<const std::uint64_t> shape, std::uint64_t nnz,
                          const RivalOptions& options, int threads) {
  const std::uint64_t number = options.precision == Precision::f64 ? sizeof(double) : sizeof(float);
  std::uint64_t rows = 0;
  for (const std::uint64_t length : shape) rows += length;
  const std::uint64_t longest = std::ranges::max(shape);
  const std::uint64_t row_bytes = number * (options.precision == Precision::f64 ? padded_rank<double>(options.rank)
                                                                                : padded_rank<float>(options.rank));
  const std::uint64_t order = shape.size();
  const std::uint64_t copies = has_every_copy(kind) ? order : 1;
  // Of a tree at worst two words per node on every level; a pointer or permutation more for lists; sorting takes 8.
  const std::uint64_t tensor_bytes = copies * nnz * (2 * order * sizeof(std::uint32_t) + number);
  const std::uint64_t sorting_bytes = nnz * 4 * sizeof(std::uint32_t);
  if (is_list(kind)) {
    const bool is_private = kind == RivalKind::alto || kind == RivalKind::coo_duplicated;
    const auto width = static_cast<std::uint64_t>(threads);
    const std::uint64_t output_rows = is_private ? width * longest : longest + width * fcoo_parts_per_thread;
    return list_bytes(kind, shape, nnz, number, options.knobs) + (rows + output_rows) * row_bytes;
  }
  const auto outputs = static_cast<std::uint64_t>(options.on_device ? 1 : threads + 1);
  return tensor_bytes + sorting_bytes + (rows + outputs * longest) * row_bytes;
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
