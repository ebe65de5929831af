#include "engine/work/job.hpp"

#include <algorithm>
#include <blco/peers.hpp>
#include <blco/version.hpp>
#include <cstring>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/compile_note.hpp"
#include "engine/common/memory.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/device_list.hpp"
#include "engine/work/original_rows.hpp"
#include "io/container/chunk_source.hpp"

namespace blco {
namespace {

std::optional<ChunkShare> share_of(const Tensor& tensor, const Peers* peers) {
  if (peers == nullptr || peers->size() == 1) return std::nullopt;
  const IndexRange range = chunk_range(TensorChunks::of(tensor).info().chunk_count(), peers->rank(), *peers);
  return std::make_optional<ChunkShare>(TensorChunks::of(tensor), range);
}

std::unique_ptr<ServingThreads> threads_for(const Compute& compute) {
  const std::vector<NamedDevice> devices = devices_of(compute);
  if (devices.size() < 2) return nullptr;
  std::vector<ThreadWorker> workers;
  for (const Compute& part : parts_of(compute, devices)) {
    const NamedDevice& device = devices[workers.size()];
    workers.push_back({part, device.name, device.share, device.gpu});
  }
  return std::make_unique<ServingThreads>(std::move(workers));
}

int threads_of(const Compute& compute) {
  return compute.threads != 0 ? compute.threads
                              : usable_processors(compute.peers == nullptr ? 1 : compute.peers->processor_sharers());
}

}  // namespace

std::uint64_t job_budget(const Compute& compute) {
  const std::uint64_t budget = host_budget(compute.memory.host_bytes);
  const bool is_shared = compute.memory.host_bytes == 0 && compute.peers != nullptr;
  return is_shared ? budget / static_cast<std::uint64_t>(compute.peers->neighbours()) : budget;
}

namespace {

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

}  // namespace

JobNeeds needs_of(const Tensor& tensor, int rank, Precision precision) {
  JobNeeds needs{.backend = {.layout = TensorLayout(tensor.summary().shape)}};
  needs.backend.rank = rank;
  needs.share_of_rank_1 = 1.0 / rank;
  needs.backend.precision = precision;
  if (const std::optional<Saving> saving = saving_by_compact(tensor.summary())) needs.savings.push_back(*saving);
  add_reordering_bytes(TensorChunks::of(tensor).info(), needs);
  return needs;
}

JobNeeds needs_of(const Tensor& tensor, const JobOrder& order) {
  JobNeeds needs = needs_of(tensor, order.columns, order.precision);
  needs.caller = {};
  needs.model_bytes = 0;
  needs.backend.all_outputs = order.all_outputs;
  needs.backend.loss_passes = order.loss_passes;
  needs.want_previous = order.wants_previous;
  needs.backend.dual_modes = order.dual_modes;
  for (std::size_t i = 0; i < order.vector_count; ++i) {
    needs.backend.vectors.push_back(
        {.rows = order.vector_rows[i], .has_all_modes = has_mode(order.vectors_of_all_modes, static_cast<int>(i))});
  }
  needs.of_thread = order.of_thread;
  needs.draws = order.draws;
  needs.value_exponent = order.value_exponent;
  needs.may_slab = true;
  if (order.single_pass) needs.best_tier = Tier::streamed;
  return needs;
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

Job::Job(const Tensor& tensor, const Compute& whole, const JobNeeds& needs, const DeclaredGpu* declared)
    : tensor_(&tensor),
      threads_(threads_for(whole)),
      peers_(threads_ ? &threads_->lead() : whole.peers),
      share_(share_of(tensor, peers_)),
      pool_(threads_of(threads_ ? threads_->compute(0) : whole)),
      side_jobs_(pool_),
      needs_(needs),
      declared_(declared),
      sizes_(measure_tensor(chunks())) {
  const Compute& compute = threads_ ? threads_->compute(0) : whole;
  needs_.budget_bytes = job_budget(whole);
  needs_.threads = pool_.width();
  needs_.deterministic = compute.deterministic;
  if (peers_ != nullptr && peers_->size() > 1 && !compute.deterministic) queue_ = peers_->chunk_queue();
  if (queue_ != nullptr) {
    const TensorSizes all = measure_tensor(TensorChunks::of(tensor));
    sizes_.others = {.buffer_bytes = all.largest_buffer(), .scratch_bytes = all.largest_scratch()};
  }
  if (threads_) devices_of(whole, &device_note_);
  // Devices of one process may take each other's chunks, and so need any row.
  const bool is_process = peers_ != nullptr && peers_->size() > 1 && threads_ == nullptr && !needs.of_thread;
  holds_all_ = !is_process || (needs.any_rows && peers_->rank() == 0);
  choose_device(compute);
  if (holds_all_) choose_slabs();
  if (peers_ != nullptr && peers_->size() > 1) {
    const auto rank = static_cast<std::uint64_t>(needs.backend.rank);
    needs_.caller.take_by_rank("rows on their way",
                               RowMoves::memory_bytes(tensor.shape(), needs.backend.rank, peers_->size()));
    needs_.caller.take("which rows are touched",
                       bitmaps_of_worker * (bytes_of<TouchedRows>(tensor.shape()) + counts_bytes(tensor.shape())));
    // Rank 0 keeps the Grams of all modes.
    const std::uint64_t grams = peers_->rank() == 0 ? tensor.order() : 0;
    needs_.caller.take_by_rank("systems of R x R numbers", (systems_of_worker + grams) * rank * rank * sizeof(double));
  }
  if (holds_all_) count_model();
  if (!needs_.of_thread) needs_.caller.take("the tensor in memory", TensorChunks::of(tensor).held_bytes());
  choose_orders();
  if (threads_) {
    plan_devices();
  } else if (holds_all_) {
    plan_ = make_plan(sizes_, needs_);
    if (least_of_orders_) plan_.minimum_bytes = *least_of_orders_;  // a smaller budget leads to the orders
  }
  is_planned_ = holds_all_;
  if (peers_ != nullptr && peers_->rank() == 0) needs_.draws = queue_ != nullptr && has_chunks_to_share();
  if (!compute.trace.empty() && declared_ == nullptr) trace_ = std::make_unique<ChromeTrace>(compute.trace);
  needs_.backend.trace = trace_.get();
}

// A CPU that holds all rows frees the factors one by one as the model takes them.
void Job::count_model() {
  const bool frees_factors = needs_.backend.held.empty() && (!gpu_ || slabs_);
  if (!frees_factors) needs_.caller.take_by_rank("the model", needs_.model_bytes);
}

// Why passes cannot read the orders of their modes; empty: they can.
std::string Job::obstacle_to_orders() const {
  const BackendConfig& backend = needs_.backend;
  if (gpu_) return "a GPU reads the natural order";
  if (peers_ != nullptr && peers_->size() > 1) return "several workers read the natural order";
  if (!needs_.passes_by_mode || backend.all_outputs) return "passes for several modes read the natural order";
  if (!backend.columns.empty()) return "passes for Kronecker products read the natural order";
  return "";
}

// Why the natural order is better, by what the budget lets stay in memory; empty: it is not. No budget takes part where
// no bit may depend on it.
std::string Job::advantage_of_natural_order(const Plan& ordered) const {
  if (needs_.threads == 1 || needs_.deterministic) return "";
  try {
    const Plan natural = make_plan(sizes_, needs_);
    if (natural.arranges_all) return "memory holds all nonzeros arranged for each mode, which is faster";
    if (natural.keeps_all() && !ordered.keeps_all()) return "memory holds the natural order, but not all of the others";
  } catch (const Error&) {  // the budget is below its minimum
  }
  return "";
}

void Job::choose_orders() {
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

const ChunkSource& Job::pass_chunks() const { return ordered_ ? static_cast<const ChunkSource&>(*ordered_) : chunks(); }

// Each device gets the memory that it cannot do without, and its share of the rest.
void Job::plan_devices() {
  const std::uint64_t whole = needs_.budget_bytes;
  needs_.savings.push_back({.words = "fewer devices", .term = "the other devices"});
  const auto plan_other = [&](std::size_t rank, std::uint64_t budget) {
    threads_->compute(rank).memory.host_bytes = budget;
    try {
      return Job(*tensor_, threads_->compute(rank), needs_of(*tensor_, order())).describe();
    } catch (const Error& error) {
      throw Error(error.kind(), threads_->name(rank) + ": " + error.what());
    }
  };
  needs_.budget_bytes = ample_bytes;
  const std::uint64_t least = std::exchange(needs_.least_bytes, 0);
  Account of_all = make_plan(sizes_, needs_).least;
  std::vector<std::uint64_t> minimums = {of_all.bytes()};
  double shares = peers_->share(0);
  for (std::size_t rank = 1; rank < threads_->size(); ++rank) {
    minimums.push_back(plan_other(rank, ample_bytes).minimum_bytes);
    of_all.take_by_rank("the other devices", minimums.back());
    shares += peers_->share(static_cast<int>(rank));
  }
  const std::uint64_t minimum = of_all.bytes();
  of_all.take_by_rank("sampling before the fit", least - std::min(least, minimum));
  needs_.budget_bytes = whole;
  check_budget(of_all, needs_);
  const auto budget_of = [&](std::size_t rank) {
    const double part = peers_->share(static_cast<int>(rank)) / shares;
    return minimums[rank] + static_cast<std::uint64_t>(static_cast<double>(whole - minimum) * part);
  };
  needs_.budget_bytes = budget_of(0);
  plan_ = make_plan(sizes_, needs_);
  for (std::size_t rank = 1; rank < threads_->size(); ++rank) {
    plan_.others.push_back(plan_other(rank, budget_of(rank)));
    plan_.planned_bytes += plan_.others.back().planned_bytes;
  }
  plan_.least = of_all;
  plan_.minimum_bytes = of_all.bytes();
  needs_.budget_bytes = whole;
}

namespace {

[[noreturn]] void throw_with_advice(const NoPinnedMemory& error) {
  throw Error(error.kind(), std::string(error.what()) +
                                ": the system lets no more host memory be pinned for the GPU; " + "lower " +
                                option_name("host_bytes") + ", or use " + option_name("devices", "cpu"));
}

}  // namespace

void Job::make_backend() {
  plan_alone();
  if (gpu_) tell_of_compiling(*gpu_->gpu(), on_compile_);
  try {
    backend_ = needs_.kind->make(backend_config(needs_, plan_), side_jobs_);
  } catch (const NoPinnedMemory& error) {
    throw_with_advice(error);
  } catch (const Error& error) {
    if (!gpu_ || error.kind() != ErrorKind::out_of_memory) throw;
    throw Error(ErrorKind::out_of_memory,
                std::string(error.what()) + ": the plan requires " + format_bytes(plan_.device_planned_bytes) +
                    " of device memory, but less is free; lower " + option_name("device_bytes") + ", but not below " +
                    as_budget(plan_.device_minimum_bytes));
  }
}

Backend& Job::backend() {
  if (!backend_) make_backend();
  return *backend_;
}

// A disk that is read past the system's cache is a little faster, but what the cache still holds of the last pass is
// many times as fast.
bool Job::is_cache_of_use() const {
  constexpr std::uint64_t min_cached_share = 4;  // a quarter
  const std::uint64_t available = host_budget(0) / 4 * 5;
  const std::uint64_t left = available - std::min(available, plan_.planned_bytes);
  return plan_.disk_bytes_per_pass / min_cached_share <= left;
}

bool Job::has_chunks_to_share() const {
  const auto to_share = [](Tier tier) { return tier == Tier::streamed || tier == Tier::packed; };
  return std::ranges::any_of(plan_.tiers, to_share) ||
         std::ranges::any_of(plan_.others, [](const CpdPlan& of) { return of.streamed_chunks + of.packed_chunks > 0; });
}

std::unique_ptr<Streamer> Job::make_streamer(ProgressMeter* meter) {
  if (is_cache_of_use()) plan_.direct_bytes = 0;
  // A GPU leaves the CPU's threads free to read; otherwise those that compute also read.
  SideJobs* const jobs = gpu_ ? nullptr : &side_jobs_;
  QueueShare share;
  if (needs_.draws) {
    const std::uint64_t all = TensorChunks::of(*tensor_).info().chunk_count();
    share = {queue_, static_cast<std::size_t>(peers_->rank()), chunk_range(all, peers_->rank(), *peers_).begin};
    if (!gpu_) share.gpu = queue_->gpu();
  }
  const ChunkSource& source = needs_.draws ? TensorChunks::of(*tensor_) : pass_chunks();
  std::unique_ptr<Streamer> streamer;
  try {
    streamer = std::make_unique<Streamer>(source, plan_, backend(), jobs, trace_.get(), meter, share);
  } catch (const NoPinnedMemory& error) {
    throw_with_advice(error);
  }
  static_cast<StreamPlan&>(plan_) = streamer->plan();
  plan_.planned_bytes -= std::min(plan_.planned_bytes, plan_.demoted_bytes);
  return streamer;
}

std::uint64_t Job::first_chunk() const {
  const std::uint64_t all = TensorChunks::of(*tensor_).info().chunk_count();
  return peers_ != nullptr ? chunk_range(all, peers_->rank(), *peers_).begin : 0;
}

std::unique_ptr<WorkerGroup> Job::make_workers(ProgressMeter* meter) {
  const bool is_alone = peers_ == nullptr || peers_->size() == 1;
  if (threads_) threads_->serve(*tensor_);
  std::unique_ptr<JobAtPeers> at_peers;
  std::unique_ptr<RowMoves> moves;
  if (!is_alone) {
    at_peers = std::make_unique<JobAtPeers>(*peers_);
    moves = share_rows(at_peers->tree());
  }
  auto workers = std::make_unique<WorkerGroup>(backend(), make_streamer(meter), pool_);
  if (meter != nullptr) {
    const double share = share_ ? static_cast<double>(share_->info().nnz) / static_cast<double>(tensor_->nnz()) : 1;
    meter->count_share(needs_.kind->slabs() * share);
  }
  if (is_alone) return workers;
  if (needs_.draws) workers->share(*queue_);
  workers->lead(std::move(at_peers), std::move(moves), backend_config(needs_, plan_),
                TensorChunks::of(*tensor_).info().chunk_count());
  return workers;
}

JobOrder Job::order() const {
  const TensorSummary& tensor = tensor_->summary();
  JobOrder order{.nnz = tensor.nnz,
                 .sum_of_squares = tensor.sum_of_squares,
                 .chunks_crc = crc_of_chunks(TensorChunks::of(*tensor_)),
                 .columns = needs_.backend.rank,
                 .precision = needs_.backend.precision,
                 .all_outputs = needs_.backend.all_outputs,
                 .loss_passes = needs_.backend.loss_passes,
                 .deterministic = needs_.deterministic,
                 .single_pass = needs_.best_tier == Tier::streamed,
                 .of_thread = threads_ != nullptr || needs_.of_thread,
                 .draws = needs_.draws,
                 .wants_previous = needs_.want_previous,
                 .dual_modes = needs_.backend.dual_modes,
                 .value_exponent = needs_.value_exponent,
                 .vector_count = needs_.backend.vectors.size()};
  if (order.vector_count > order.vector_rows.size()) refuse("a method has too many vectors for several workers");
  for (std::size_t i = 0; i < order.vector_count; ++i) {
    order.vector_rows[i] = needs_.backend.vectors[i].rows;
    if (needs_.backend.vectors[i].has_all_modes) order.vectors_of_all_modes |= mode_bit(static_cast<int>(i));
  }
  std::strncpy(order.version.data(), version_string, order.version.size() - 1);
  return order;
}

void Job::close_trace() {
  if (trace_) trace_->close();
}

// Each pass with slabs sends the rows of all modes: the factors of all but one, and the output of that one back.
std::uint64_t Job::row_bytes_of_pass(std::size_t mode) const {
  const Precision precision = needs_.backend.precision;
  std::uint64_t bytes = 0;
  for (std::size_t n = 0; n < tensor_->summary().shape.size(); ++n) {
    bytes += needs_.backend.rows_of(static_cast<int>(n)) *
             (n == mode ? output_number_bytes(precision) : factor_number_bytes(precision));
  }
  return bytes * static_cast<std::uint64_t>(needs_.backend.rank);
}

CpdPlan Job::describe() const {
  CpdPlan plan = static_cast<const CpdPlan&>(plan_);
  plan.device = backend_ ? backend_->name() : gpu_ ? gpu_->gpu()->name : "host";
  if (!device_name_.empty() && peers_ != nullptr) plan.device = device_name_ + ", " + plan.device;
  plan.device_note = device_note_;
  plan.memory_note = budget_note(needs_.budget_bytes);
  if (plan_.demoted_chunks > 0) {
    if (!plan.memory_note.empty()) plan.memory_note += "; ";
    plan.memory_note += "of the chunks planned to stay in host memory, " + std::to_string(plan_.demoted_chunks) +
                        " must be streamed, because no more can be had: " + plan_.shortage;
  }
  plan.threads = pool_.width();
  if (peers_ != nullptr && !threads_ && !needs_.of_thread) plan.processes = peers_->size();
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
