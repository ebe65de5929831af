// Estimates of the memory that rivals take.
#include <algorithm>
#include <numeric>

#include "kernels/aligned_buffer.hpp"
#include "kernels/csf/csf_kernel.hpp"
#include "kernels/host/row_matrix.hpp"
#include "tests/bench/rivals/csf/csf_pieces.hpp"
#include "tests/bench/rivals/fcoo_copies.hpp"
#include "tests/bench/rivals/fcoo_rows.hpp"
#include "tests/bench/rivals/rival.hpp"

namespace blco {
namespace {

// Bytes per nonzero that sorting lines takes at most, its result included (sorted_lines.hpp).
constexpr std::uint64_t sorting_line_bytes = 68;

bool is_list(RivalKind kind) {
  return kind == RivalKind::alto || kind == RivalKind::fcoo || kind == RivalKind::coo_atomic ||
         kind == RivalKind::coo_line || kind == RivalKind::coo_single || kind == RivalKind::coo_duplicated ||
         kind == RivalKind::coo_perm;
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

// Words of a tree: of every level two per node, of the last one; limits of fibers make at most a node per nonzero.
std::uint64_t most_tree_words(std::span<const std::uint64_t> shape, std::span<const int> modes, std::uint64_t nnz,
                              std::uint32_t fiber_limit) {
  std::uint64_t words = nnz;
  std::uint64_t nodes = 1;
  for (const int mode : modes.first(modes.size() - 1)) {
    const std::uint64_t length = shape[static_cast<std::size_t>(mode)];
    nodes = nodes < nnz / length + 1 ? std::min(nnz, nodes * length) : nnz;
    words += 2 * nodes + 1;
  }
  return fiber_limit == 0 ? words : words + 2 * std::min(nnz, nnz / fiber_limit + 1);
}

// Bytes of trees and lists, what their construction needs included.
std::uint64_t tree_bytes(RivalKind kind, std::span<const std::uint64_t> shape, std::uint64_t nnz, std::uint64_t number,
                         const RivalKnobs& knobs) {
  const std::uint64_t order = shape.size();
  const std::uint64_t copies = has_piece_per_mode(kind) ? order : 1;
  const std::uint64_t most_words = copies * ((2 * order - 1) * nnz + order);
  std::uint64_t words = 0;
  if (kind == RivalKind::csf_one) words = most_tree_words(shape, ascending_modes(shape), nnz, 0);
  for (int root = 0; root < static_cast<int>(order); ++root) {
    const std::uint32_t fiber_limit = kind == RivalKind::b_csf ? knobs.fiber_limit : 0;
    if (kind == RivalKind::csf_all || kind == RivalKind::b_csf) {
      words += most_tree_words(shape, modes_under(root, shape), nnz, fiber_limit);
    }
  }
  // Lists of slices, and partitions, take one of several forms: what the largest takes.
  words = words == 0 ? most_words : std::min(words, most_words);
  // Per nonzero: an order and a copy of it, and a byte; or lists that grow by doubling; or two words per candidate.
  std::uint64_t building = nnz * 9;
  if (kind == RivalKind::hb_csf) building = nnz * 20;
  if (kind == RivalKind::mm_csf) building = nnz * (8 * order + 9);
  constexpr std::uint64_t places = std::uint64_t{1} << 20;  // cuts, counts of digits
  return words * sizeof(std::uint32_t) + copies * nnz * number + building + RowLocks::bytes() + places;
}

std::uint64_t number_bytes(const RivalOptions& options) {
  return options.precision == Precision::f64 ? sizeof(double) : sizeof(float);
}

std::uint64_t row_bytes(const RivalOptions& options) {
  return options.precision == Precision::f64 ? padded_rank<double>(options.rank) * sizeof(double)
                                             : padded_rank<float>(options.rank) * sizeof(float);
}

}  // namespace

std::uint64_t rival_bytes(RivalKind kind, std::span<const std::uint64_t> shape, std::uint64_t nnz,
                          const RivalOptions& options, int threads) {
  const std::uint64_t longest = std::ranges::max(shape);
  const auto width = static_cast<std::uint64_t>(threads);
  if (is_list(kind)) {
    const bool is_private = kind == RivalKind::alto || kind == RivalKind::coo_duplicated;
    const std::uint64_t private_rows = is_private ? (width - 1) * longest : width * fcoo_parts_per_thread;
    return list_bytes(kind, shape, nnz, number_bytes(options), options.knobs) + private_rows * row_bytes(options);
  }
  const std::uint64_t private_rows = options.on_device ? 0 : (width - 1) * longest;
  return tree_bytes(kind, shape, nnz, number_bytes(options), options.knobs) + private_rows * row_bytes(options);
}

std::uint64_t rival_matrix_bytes(std::span<const std::uint64_t> shape, const RivalOptions& options) {
  return (std::accumulate(shape.begin(), shape.end(), std::uint64_t{0}) + std::ranges::max(shape)) * row_bytes(options);
}

}  // namespace blco
