// Which rows a job of several workers holds, and whose they are.
#include <algorithm>
#include <blco/peers.hpp>
#include <utility>
#include <vector>

#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/job.hpp"
#include "engine/work/job_order.hpp"
#include "engine/work/rows/in_step.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

// A job of a single pass does not read its chunks twice.
TouchedRows Job::touched_rows() {
  if (needs_.draws) return TouchedRows::all(tensor_->shape());
  return needs_.best_tier == Tier::streamed ? TouchedRows::between_bounds(chunks())
                                            : TouchedRows::of_nonzeros(chunks(), pool_);
}

std::unique_ptr<RowMoves> Job::take_rows(RowOwners owners, TouchedRows touched) {
  // First, because the others wait for it.
  auto moves = in_step(*peers_, [&] {
    return std::make_unique<RowMoves>(*peers_, std::move(owners), std::move(touched), tensor_->shape(),
                                      needs_.backend.rank, holds_all_);
  });
  if (!holds_all_) plan_held(moves->held(), moves->own_rows());
  backend().own(moves->owned());
  return moves;
}

// All, or those that this worker owns.
std::vector<PlacedRows> Job::placed_rows(const RowMoves* moves) const {
  std::vector<PlacedRows> rows;
  for (const std::uint64_t length : tensor_->shape()) rows.push_back({.places = {0, length}});
  for (std::size_t mode = 0; moves != nullptr && mode < rows.size(); ++mode) {
    rows[mode] = {moves->owned()[mode], moves->own_rows()[mode].begin};
  }
  return rows;
}

std::unique_ptr<OwnNumbers> Job::make_numbers(const RowMoves* moves) {
  if (needs_.lbfgs == LbfgsVectors::none) return nullptr;
  std::vector<PlacedRows> rows = placed_rows(moves);
  std::uint64_t before = 0;  // rows of the modes before
  for (std::size_t mode = 0; mode < rows.size(); ++mode) {
    rows[mode].first += before;
    before += tensor_->shape()[mode];
  }
  return std::make_unique<OwnNumbers>(std::move(rows), needs_.backend.rank, needs_.lbfgs, pool_);
}

std::unique_ptr<OwnMatrices> Job::make_matrices(const RowMoves* moves) {
  if (needs_.matrices.columns.empty()) return nullptr;
  return std::make_unique<OwnMatrices>(placed_rows(moves), needs_.matrices, pool_, needs_.backend.stop);
}

std::unique_ptr<RowMoves> Job::share_rows(const OrderTree& tree) {
  TouchedRows own(tensor_->shape());
  Message begin = begin_order(*tensor_, needs_);
  const std::vector<double> touches = tree.order(begin, Combining::sums, [&] {
    own = touched_rows();
    return own.counts(tensor_->shape());
  });
  RowOwners owners = RowOwners::by_touches(tensor_->shape(), *peers_, touches);
  Message message(MessageKind::owners);
  message.put(owners.first_rows());
  std::unique_ptr<RowMoves> moves;
  const std::vector<double> without_room = tree.order(message, Combining::sums, [&] {
    moves = take_rows(std::move(owners), std::move(own));
    return std::vector<double>{0};
  });
  if (without_room[0] > 0) plan_.keep_previous = false;
  return moves;
}

}  // namespace blco
