// Handles one mode at a time: its permutation and, with a device, a copy of its factor.
#include "engine/work/original_rows.hpp"

#include <algorithm>
#include <utility>

#include "blco/raw_vector.hpp"

namespace blco {

void add_reordering_bytes(const ContainerInfo& tensor, JobNeeds& needs) {
  std::uint64_t longest = 0;
  for (const ReorderedMode& reordered : tensor.reordered) {
    longest = std::max(longest, tensor.shape[static_cast<std::size_t>(reordered.mode)]);
  }
  needs.caller.take("the order of a reordered mode", 2 * longest * sizeof(std::uint32_t));
  needs.model_bytes =
      std::max(needs.model_bytes, longest * static_cast<std::uint64_t>(needs.backend.rank) * sizeof(double));
}

void OriginalRows::release() {
  mode_.reset();
  free_memory(stored_);
  free_memory(staged_);
}

std::span<const std::uint32_t> OriginalRows::stored_rows(int mode) {
  if (mode_ == mode) return stored_;
  release();
  const std::vector<std::uint32_t> originals = tensor_->reordering(static_cast<std::uint64_t>(mode));
  stored_.resize(originals.size());
  for (std::size_t i = 0; i < originals.size(); ++i) stored_[originals[i]] = static_cast<std::uint32_t>(i);
  mode_ = mode;
  return stored_;
}

std::span<const std::uint32_t> OriginalRows::rows_of_block(int mode, std::uint64_t first_row, std::size_t numbers) {
  const std::span<const std::uint32_t> stored = stored_rows(mode);
  if (stored.empty()) return stored;
  return stored.subspan(static_cast<std::size_t>(first_row), numbers / static_cast<std::size_t>(rank_));
}

void OriginalRows::load(int mode, std::uint64_t first_row, std::span<const double> rows) {
  const std::span<const std::uint32_t> block = rows_of_block(mode, first_row, rows.size());
  if (block.empty()) return rows_->load_factor(mode, first_row, rows);
  if (!on_device_) return rows_->load_rows(mode, block, rows);
  staged_.resize(stored_.size() * rank_);
  for (std::size_t i = 0; i < block.size(); ++i) {
    std::ranges::copy(rows.subspan(i * rank_, rank_), row(staged_, block[i]).begin());
  }
  if (first_row + block.size() == stored_.size()) {
    rows_->load_factor(mode, 0, staged_);
    release();
  }
}

void OriginalRows::store(int mode, std::uint64_t first_row, std::span<double> rows) {
  const std::span<const std::uint32_t> block = rows_of_block(mode, first_row, rows.size());
  if (block.empty()) return rows_->store_factor(mode, first_row, rows);
  if (!on_device_) return rows_->store_rows(mode, block, rows);
  if (first_row == 0) {
    staged_.resize(stored_.size() * rank_);
    rows_->store_factor(mode, 0, staged_);
  }
  for (std::size_t i = 0; i < block.size(); ++i) {
    std::ranges::copy(row(staged_, block[i]), rows.subspan(i * rank_).begin());
  }
  if (first_row + block.size() == stored_.size()) release();
}

std::vector<double> OriginalRows::take(int mode) {
  release();
  std::vector<double> rows = rows_->take_factor(mode);
  reorder(mode, rows);
  return rows;
}

// Permutes in place, cycle by cycle; turns the finished part of the permutation into the identity.
void OriginalRows::reorder(int mode, std::span<double> rows) {
  stored_rows(mode);
  std::vector<double> first(rank_);
  for (std::uint64_t start = 0; start < stored_.size(); ++start) {
    if (stored_[start] == start) continue;
    std::ranges::copy(row(rows, start), first.begin());
    std::uint64_t to = start;
    for (std::uint64_t from = stored_[to]; from != start; from = stored_[to]) {
      std::ranges::copy(row(rows, from), row(rows, to).begin());
      stored_[to] = static_cast<std::uint32_t>(to);
      to = from;
    }
    std::ranges::copy(first, row(rows, to).begin());
    stored_[to] = static_cast<std::uint32_t>(to);
  }
  release();
}

}  // namespace blco
