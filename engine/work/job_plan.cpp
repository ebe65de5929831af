#include "engine/work/job_plan.hpp"

#include <algorithm>
#include <blco/peers.hpp>
#include <functional>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "engine/work/original_rows.hpp"
#include "engine/work/rows/own_matrices.hpp"
#include "engine/work/rows/own_numbers.hpp"
#include "engine/work/rows/row_moves.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/tile_products.hpp"

namespace blco {
namespace {

std::optional<ChunkShare> share_of(const Tensor& tensor, const Peers* peers) {
  if (peers == nullptr || peers->size() == 1) return std::nullopt;
  const IndexRange range = chunk_range(TensorChunks::of(tensor).info().chunk_count(), peers->rank(), *peers);
  return std::make_optional<ChunkShare>(TensorChunks::of(tensor), range);
}

int threads_of(const Compute& compute) {
  check_threads(compute.threads);
  return compute.threads != 0 ? compute.threads
                              : usable_processors(compute.peers == nullptr ? 1 : compute.peers->processor_sharers());
}

// Of a tensor most of whose indices have no entry: that it can be ingested without these.
std::optional<Saving> saving_by_compact(const TensorSummary& tensor) {
  constexpr std::uint64_t most = 4;  // as many indices as can have entries
  std::uint64_t length = 0;
  std::uint64_t occurring = 0;
  for (const std::uint64_t of_mode : tensor.shape) {
    length += of_mode;
    occurring += std::min(of_mode, tensor.nnz);
  }
  if (length <= most * occurring) return std::nullopt;
  return Saving{.words = "a tensor ingested with " + option_name("IngestOptions.compact") + " (at most " +
                         std::to_string(occurring) + " of its " + std::to_string(length) + " indices have entries)",
                .share = static_cast<double>(occurring) / static_cast<double>(length)};
}

// What a worker has at once: bitmaps of rows, of which a RowIndex has the size of two, and counts of them; systems in
// orders and answers.
constexpr std::uint64_t bitmaps_of_worker = 6;
constexpr std::uint64_t systems_of_worker = 4;

// Of TouchedRows::counts.
std::uint64_t counts_bytes(const std::vector<std::uint64_t>& shape) {
  std::uint64_t units = 0;
  for (const std::uint64_t length : shape) units += TouchedRows::units_of(length);
  return units * sizeof(double);
}

// What unfoldings take beside the largest one, where each worker may own most rows of another mode.
std::uint64_t unlike_unfoldings(const std::vector<std::uint64_t>& shape, const MatrixSizes& sizes) {
  std::uint64_t all = 0;
  std::uint64_t largest = 0;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    all += shape[n] * sizes.unfolding[n];
    largest = std::max(largest, shape[n] * sizes.unfolding[n]);
  }
  return (all - largest) * sizeof(double);
}

}  // namespace

std::uint64_t job_budget(const Compute& compute) {
  const std::uint64_t budget = host_budget(compute.memory.host_bytes);
  const bool is_shared = compute.memory.host_bytes == 0 && compute.peers != nullptr;
  return is_shared ? budget / static_cast<std::uint64_t>(compute.peers->neighbours()) : budget;
}

JobNeeds needs_of(const Tensor& tensor, int rank, Precision precision) {
  JobNeeds needs{.backend = {.layout = TensorLayout(tensor.summary().shape)}};
  needs.backend.rank = rank;
  needs.share_of_rank_1 = 1.0 / rank;
  needs.backend.precision = precision;
  if (const std::optional<Saving> saving = saving_by_compact(tensor.summary())) needs.savings.push_back(*saving);
  add_reordering_bytes(TensorChunks::of(tensor).info(), needs);
  return needs;
}

JobPlan::JobPlan(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, const DeclaredGpu* declared)
    : tensor_(&tensor),
      peers_(compute.peers),
      share_(share_of(tensor, peers_)),
      needs_(needs),
      sizes_(measure_tensor(chunks())),
      declared_(declared) {
  needs_.budget_bytes = job_budget(compute);
  needs_.threads = threads_of(compute);
  needs_.deterministic = compute.deterministic;
  if (are_threads() && !compute.deterministic) {
    queue_ = peers_->chunk_queue();
    const TensorSizes all = measure_tensor(TensorChunks::of(tensor));
    sizes_.others = {.buffer_bytes = all.largest_buffer(), .scratch_bytes = all.largest_scratch()};
  }
  // Devices of one process may take each other's chunks, and so need any row.
  holds_all_ = !has_peers() || are_threads() || (needs.any_rows && peers_->rank() == 0);
  choose_device(compute);
  if (holds_all_) choose_slabs();
  if (has_peers()) count_moves();
  if (holds_all_) count_model();
  if (holds_all_) count_numbers(tensor.shape());
  // Threads of one process have one tensor in memory, which the first of them counts.
  if (!are_threads() || peers_->rank() == 0) {
    needs_.caller.take("the tensor in memory", TensorChunks::of(tensor).held_bytes());
  }
  choose_orders();
}

// What takes part in moves of rows, and in steps.
void JobPlan::count_moves() {
  const std::vector<std::uint64_t>& shape = tensor_->shape();
  const int columns = needs_.backend.rank;
  const auto rank = static_cast<std::uint64_t>(columns);
  needs_.caller.take_by_rank("rows on their way", RowMoves::memory_bytes(shape, columns, peers_->size()));
  needs_.caller.take("which rows are touched",
                     bitmaps_of_worker * (bytes_of<TouchedRows>(shape) + counts_bytes(shape)));
  // Rank 0 keeps the Grams of all modes.
  const std::uint64_t grams = peers_->rank() == 0 ? shape.size() : 0;
  needs_.caller.take_by_rank("systems of R x R numbers", (systems_of_worker + grams) * rank * rank * sizeof(double));
}

void JobPlan::plan_known_rows() {
  plan_ = make_plan(sizes_, needs_);
  if (least_of_orders_) plan_.minimum_bytes = *least_of_orders_;  // a smaller budget leads to the orders
  is_planned_ = true;
}

// The chunks' bounds say between which rows they lie, and each nonzero has one of them.
void JobPlan::plan_alone() {
  if (is_planned_) return;
  if (holds_all_) return plan_known_rows();
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
  const std::vector<IndexRange> owned_rows = owners.rows_of(static_cast<std::size_t>(peers_->rank()));
  TouchedRows held(shape);
  for (std::size_t mode = 0; mode < shape.size(); ++mode) {
    const IndexRange& owned = owned_rows[mode];
    held.add(mode, owned);
    std::uint64_t nonzeros = share_->info().nnz;
    const auto add = [&](std::uint64_t row) {
      if (nonzeros == 0 || (row >= owned.begin && row < owned.end)) return;
      held.add(mode, {row, row + 1});
      --nonzeros;
    };
    own.for_each(mode, {0, shape[mode]}, add);
  }
  plan_held(held.index(shape), owned_rows);
}

void JobPlan::plan_held(std::vector<std::shared_ptr<const RowIndex>> held, const std::vector<IndexRange>& owned) {
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
  std::vector<std::uint64_t> own_rows;
  for (const IndexRange& of_mode : owned) own_rows.push_back(of_mode.end - of_mode.begin);
  choose_slabs();
  count_model();
  count_numbers(own_rows);
  plan_known_rows();
}

// The first of several threads counts those of all: equal parts take most; a row more in each mode, and a tile, are for
// what is rounded up.
void JobPlan::count_numbers(const std::vector<std::uint64_t>& rows) {
  const int rank = needs_.backend.rank;
  const std::uint64_t parts = are_threads() ? static_cast<std::uint64_t>(peers_->size()) : 1;
  if (parts > 1 && peers_->rank() > 0) return;
  std::vector<std::uint64_t> of_part = rows;
  if (parts > 1) {
    for (std::uint64_t& count : of_part) count = count / parts + 1;
    of_part[0] += product_tile / static_cast<std::uint64_t>(rank) + 1;
  }
  if (needs_.lbfgs != LbfgsVectors::none) {
    needs_.caller.take_by_rank("vectors of L-BFGS", parts * OwnNumbers::bytes(of_part, rank, needs_.lbfgs));
  }
  if (!needs_.matrices.columns.empty()) {
    const std::vector<std::uint64_t>& shape = tensor_->shape();
    std::uint64_t bytes = parts * OwnMatrices::bytes(of_part, shape, needs_.matrices);
    if (parts > 1) bytes += unlike_unfoldings(shape, needs_.matrices);
    needs_.caller.take_by_rank("matrices and an unfolding", bytes);
  }
}

// A CPU that holds all rows frees the factors one by one as the model takes them.
void JobPlan::count_model() {
  const bool frees_factors = needs_.backend.held.empty() && (!gpu_ || slabs_);
  if (!frees_factors) needs_.caller.take_by_rank("the model", needs_.model_bytes);
}

// Why passes cannot read the orders of their modes; empty: they can.
std::string JobPlan::obstacle_to_orders() const {
  const BackendConfig& backend = needs_.backend;
  if (gpu_) return "a GPU reads the natural order";
  if (has_peers()) return "several workers read the natural order";
  if (!needs_.passes_by_mode || backend.all_outputs) return "passes for several modes read the natural order";
  if (!backend.columns.empty()) return "passes for Kronecker products read the natural order";
  return "";
}

// Why the natural order is better, by what the budget lets stay in memory; empty: it is not. No budget takes part where
// no bit may depend on it.
std::string JobPlan::advantage_of_natural_order(const Plan& ordered) const {
  if (needs_.threads == 1 || needs_.deterministic) return "";
  try {
    const Plan natural = make_plan(sizes_, needs_);
    if (natural.arranges_all) return "memory holds all nonzeros arranged for each mode, which is faster";
    if (natural.keeps_all() && !ordered.keeps_all()) return "memory holds the natural order, but not all of the others";
  } catch (const Error&) {  // the budget is below its minimum
  }
  return "";
}

void JobPlan::choose_orders() {
  ordered_.emplace(TensorChunks::of(*tensor_));
  if (ordered_->is_natural()) return ordered_.reset();
  orders_note_ = obstacle_to_orders();
  if (orders_note_.empty()) {
    JobNeeds needs = needs_;
    needs.of_modes = ordered_->of_modes();
    needs.backend.orders = ordered_->orders();
    needs.backend.natural_chunks = ordered_->has_natural();
    TensorSizes sizes = measure_tensor(*ordered_);
    const Plan plan = make_plan(sizes, needs);
    orders_note_ = advantage_of_natural_order(plan);
    if (orders_note_.empty()) {
      needs_ = std::move(needs);
      sizes_ = std::move(sizes);
      return;
    }
    least_of_orders_ = plan.minimum_bytes;
  }
  ordered_.reset();
}

const ChunkSource& JobPlan::pass_chunks() const {
  return ordered_ ? static_cast<const ChunkSource&>(*ordered_) : chunks();
}

bool JobPlan::has_chunks_to_share() const {
  const auto to_share = [](Tier tier) { return tier == Tier::streamed || tier == Tier::packed; };
  return std::ranges::any_of(plan_.tiers, to_share) ||
         std::ranges::any_of(plan_.others, [](const CpdPlan& of) { return of.streamed_chunks + of.packed_chunks > 0; });
}

std::uint64_t JobPlan::first_chunk() const {
  const std::uint64_t all = TensorChunks::of(*tensor_).info().chunk_count();
  return peers_ != nullptr ? chunk_range(all, peers_->rank(), *peers_).begin : 0;
}

// Each pass with slabs sends the rows of all modes: the factors of all but one, and the output of that one back.
std::uint64_t JobPlan::row_bytes_of_pass(std::size_t mode) const {
  const Precision precision = needs_.backend.precision;
  std::uint64_t bytes = 0;
  for (std::size_t n = 0; n < tensor_->summary().shape.size(); ++n) {
    bytes += needs_.backend.rows_of(static_cast<int>(n)) *
             (n == mode ? output_number_bytes(precision) : factor_number_bytes(precision));
  }
  return bytes * static_cast<std::uint64_t>(needs_.backend.rank);
}

CpdPlan JobPlan::describe() const {
  CpdPlan plan = static_cast<const CpdPlan&>(plan_);
  plan.device = !backend_name_.empty() ? backend_name_ : gpu_ ? gpu_->gpu()->name : "host";
  if (!device_name_.empty() && peers_ != nullptr) plan.device = device_name_ + ", " + plan.device;
  plan.device_note = device_note_;
  plan.memory_note = budget_note(needs_.budget_bytes);
  if (plan_.demoted_chunks > 0) {
    if (!plan.memory_note.empty()) plan.memory_note += "; ";
    plan.memory_note += "of the chunks planned to stay in host memory, " + std::to_string(plan_.demoted_chunks) +
                        " must be streamed, because no more can be had: " + plan_.shortage;
  }
  plan.threads = needs_.threads;
  if (peers_ != nullptr && peers_->chunk_queue() == nullptr) plan.processes = peers_->size();
  plan.slots = plan_.slots;
  plan.chunk_count = plan_.tiers.size();
  for (const Tier tier : plan_.tiers) {
    plan.device_chunks += tier == Tier::device ? 1 : 0;
    plan.decoded_chunks += tier == Tier::decoded ? 1 : 0;
    plan.packed_chunks += tier == Tier::packed ? 1 : 0;
    plan.streamed_chunks += tier == Tier::streamed ? 1 : 0;
  }
  plan.budget_bytes = needs_.budget_bytes;
  plan.disk_bytes_per_pass = plan_.disk_bytes_per_pass;
  for (std::size_t mode = 0; mode < plan_.of_modes.size(); ++mode) {
    ModeRead& read = plan.reads.emplace_back();
    read.own_order = !needs_.backend.orders[mode].empty();
    for (std::uint64_t chunk = plan_.of_modes[mode].first; chunk < plan_.of_modes[mode].end; ++chunk) {
      if (plan_.tiers[chunk] == Tier::streamed) read.disk_bytes += sizes_.chunks[chunk].stored_bytes;
    }
  }
  plan.orders_note = orders_note_;
  plan.stops_within_sweep = plan_.keep_previous;
  plan.device_budget_bytes = needs_.device_budget_bytes;
  plan.column_slabs = needs_.kind->slabs();
  for (std::size_t mode = 0; slabs_ && mode < tensor_->summary().shape.size(); ++mode) {
    plan.row_bytes_per_pass = std::max(plan.row_bytes_per_pass, row_bytes_of_pass(mode));
  }
  return plan;
}

}  // namespace blco
