// Which rows a job of several workers holds, and whose they are.
#include <algorithm>
#include <blco/peers.hpp>
#include <functional>
#include <utility>
#include <vector>

#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/job.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {

// A job of a single pass does not read its chunks twice.
TouchedRows Job::touched_rows() {
  if (needs_.draws) return TouchedRows::all(tensor_->shape());
  return needs_.best_tier == Tier::streamed ? TouchedRows::between_bounds(chunks())
                                            : TouchedRows::of_nonzeros(chunks(), pool_);
}

// The chunks' bounds say between which rows they lie, and each nonzero has one of them.
void Job::plan_alone() {
  if (is_planned_) return;
  const std::vector<std::uint64_t>& shape = tensor_->shape();
  const ChunkSource& all = TensorChunks::of(*tensor_);
  TouchedRows own(shape);
  std::vector<double> touches;
  for (int rank = 0; rank < peers_->size(); ++rank) {
    const ChunkShare share(all, chunk_range(all.info().chunk_count(), rank, *peers_));
    TouchedRows theirs = TouchedRows::between_bounds(share);
    const std::vector<double> counts = theirs.counts(shape);
    touches.resize(counts.size());
    std::ranges::transform(touches, counts, touches.begin(), std::plus());
    if (rank == peers_->rank()) own = std::move(theirs);
  }
  const RowOwners owners = RowOwners::by_touches(shape, *peers_, touches);
  TouchedRows held(shape);
  for (std::size_t mode = 0; mode < shape.size(); ++mode) {
    const IndexRange owned = owners.rows(mode, static_cast<std::size_t>(peers_->rank()));
    held.add(mode, owned);
    std::uint64_t nonzeros = share_->info().nnz;
    const auto add = [&](std::uint64_t row) {
      if (nonzeros == 0 || (row >= owned.begin && row < owned.end)) return;
      held.add(mode, {row, row + 1});
      --nonzeros;
    };
    own.for_each(mode, {0, shape[mode]}, add);
  }
  plan_held(held.index(shape));
}

void Job::plan_held(std::vector<std::shared_ptr<const RowIndex>> held) {
  BackendConfig& backend = needs_.backend;
  backend.held = std::move(held);
  const std::vector<std::uint64_t> rows = backend.rows();
  for (VectorShape& vector : backend.vectors) {
    const std::uint64_t of_whole_modes = std::exchange(vector.rows, 0);
    for (std::size_t mode = 0; mode < rows.size(); ++mode) {
      if (vector.has_all_modes) {
        vector.rows += rows[mode];
      } else if (tensor_->shape()[mode] <= of_whole_modes) {
        vector.rows = std::max(vector.rows, rows[mode]);
      }
    }
  }
  choose_slabs();
  count_model();
  plan_ = make_plan(sizes_, needs_);
  is_planned_ = true;
}

std::unique_ptr<RowMoves> Job::take_rows(RowOwners owners, TouchedRows touched) {
  // First, because the others wait for it.
  auto moves = std::make_unique<RowMoves>(*peers_, std::move(owners), std::move(touched), tensor_->shape(),
                                          needs_.backend.rank, holds_all_);
  if (!holds_all_) plan_held(moves->held());
  backend().own(moves->owned());
  return moves;
}

std::unique_ptr<RowMoves> Job::share_rows(const OrderTree& tree) {
  TouchedRows own(tensor_->shape());
  Message begin(MessageKind::begin);
  begin.put(order());
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
