// The CUDA backend: slots carry chunks across the link and compute them; dense work has its own stream.
//
// Order of streams: a pass begins on the main stream, which zeroes the outputs; every other stream waits for that. A
// slot's copy, kernel and next copy are ordered by the slot's stream. To end a pass, the main stream waits for all
// others, merges the copies of outputs and reads back fault record and terms. Nothing in a pass waits for the whole
// device.
//
// Over 500 lines: one class, most of whose members hand their step to the object that owns its kernels.
#include "kernels/cuda/cuda_backend.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "blco/bits.hpp"
#include "blco/trace.hpp"
#include "kernels/backend_checks.hpp"
#include "kernels/cuda/conflict_resolution.hpp"
#include "kernels/cuda/dense.hpp"
#include "kernels/cuda/device_chunk.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/device_outputs.hpp"
#include "kernels/cuda/device_steps.hpp"
#include "kernels/cuda/frame_launcher.hpp"
#include "kernels/cuda/staged_transfer.hpp"
#include "kernels/factor_set.hpp"
#include "kernels/method_vectors.hpp"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#endif

namespace blco {
namespace {

using namespace cuda;

// A device buffer, its stream, and the event recorded after the copy from the staging buffer of the same number.
struct Slot {
  explicit Slot(std::uint64_t bytes) : memory(bytes, "a slot"), stream(Stream::Priority::urgent) {}

  DeviceBuffer memory;
  Stream stream;
  Event staged{Event::Timing::off, cudaEventBlockingSync};  // readers wait for it, and must not spin meanwhile
};

struct Resident {
  DeviceChunk chunk;  // in device memory, or packed
  ChunkView packed;   // in the caller's pinned memory, if sent over the link in every pass
  bool crosses_link = false;
  std::size_t slot = 0;  // whose stream copies it, until the end of the pass that keeps it
};

// Says what a pass has found.
[[noreturn]] void throw_fault(FaultRecord fault, const BackendConfig& config) {
  const auto mode = static_cast<int>(fault & 255);
  throw Error(ErrorKind::corrupt, "chunk " + std::to_string((fault >> 8) - 1) + ": a coordinate of mode " +
                                      std::to_string(mode) + " lies outside the tensor" +
                                      (config.holds_all(mode) ? "" : ", or is new since rows were shared out") +
                                      "; the file is damaged, ingest it again");
}

int current_device() {
  int device = 0;
  check(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

// Times the copies and kernels of one pass by events, and reports them when the pass has ended. Does nothing without
// a sink. Call from one thread.
class DeviceTrace {
 public:
  using Mark = std::size_t;

  explicit DeviceTrace(TraceSink* sink) : sink_(sink) {}

  // Sets time zero. Against the host's clock, times are off by the delay of this event on its way to the device.
  void begin_pass(cudaStream_t stream) {
    used_ = 0;
    spans_.clear();
    begin_ = std::chrono::steady_clock::now();
    mark(stream);
  }

  Mark mark(cudaStream_t stream) {
    if (sink_ == nullptr) return 0;
    if (used_ == events_.size()) events_.emplace_back(Event::Timing::on);
    events_[used_].record(stream);
    return used_++;
  }

  void add(std::string track, const char* name, std::uint64_t chunk, std::uint64_t bytes, Mark from, Mark to) {
    if (sink_ != nullptr) spans_.push_back({std::move(track), name, chunk, bytes, from, to});
  }

  // Requires: all marks have passed.
  void report() {
    for (const Span& span : spans_) {
      sink_->add({span.track, span.name, time_of(span.from), time_of(span.to), span.chunk, span.bytes});
    }
    spans_.clear();
  }

 private:
  struct Span {
    std::string track;
    const char* name;
    std::uint64_t chunk;
    std::uint64_t bytes;
    Mark from;
    Mark to;
  };

  std::chrono::steady_clock::time_point time_of(Mark mark) const {
    const std::chrono::duration<double, std::milli> since(events_[mark].milliseconds_since(events_[0]));
    return begin_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(since);
  }

  TraceSink* sink_;
  std::chrono::steady_clock::time_point begin_;
  std::vector<Event> events_;  // the first marks the beginning of the pass
  std::size_t used_ = 0;
  std::vector<Span> spans_;
};

// A named range on the profiler's timeline, if NVTX is available.
class NvtxRange {
 public:
#ifdef NVTX_VERSION
  explicit NvtxRange(const char* name) { nvtxRangePushA(name); }
  ~NvtxRange() { nvtxRangePop(); }
#else
  explicit NvtxRange(const char*) {}
  ~NvtxRange() {}
#endif
  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
};

template <class Sum, class Factor>
class CudaBackend final : public Backend {
 public:
  CudaBackend(const BackendConfig& config, const DeviceLimits& limits)
      : config_(config),
        limits_(limits),
        device_(current_device()),
        layout_(config.layout),
        outputs_(config, limits),
        terms_(config.slots, limits.multiprocessors),
        dense_sizes_(std::ranges::max(config.rows()), config.rank, sizeof(Sum), sizeof(Factor), config.dual_modes != 0),
        scratch_(dense_sizes_.bytes, "scratch"),
        small_(line_table_bytes(layout_) + sizeof(FaultRecord), "tables"),
        vectors_(config,
                 [&, made = std::size_t{0}](const VectorShape&, std::size_t numbers) mutable {
                   return DeviceVector(numbers, made++ < config.device_vectors);
                 }),
        launcher_(config, limits),
        trace_(config.trace),
        dense_(dense_sizes_, scratch_.as<void>(), main_, transfer_),
        steps_(dense_sizes_, scratch_.as<void>(), main_, transfer_) {
    for (int mode = 0; mode < layout_.order(); ++mode) {
      add_factor(mode);
      grams_.emplace_back();
      owned_.push_back({0, rows_of(mode)});
    }
    for (std::size_t v = 0; v < config.vectors.size(); ++v) vectors_[static_cast<int>(v)].clear(main_);
    fault_ = reinterpret_cast<FaultRecord*>(small_.as<std::byte>() + line_table_bytes(layout_));
    arena_ = DeviceBuffer(config.resident_bytes, "chunks that stay on the device");
    for (int i = 0; i < resident_streams; ++i) resident_streams_.emplace_back();
    for (int slot = 0; slot < config.slots; ++slot) slots_.emplace_back(config.slot_bytes);

    MttkrpArguments<Sum, Factor>& shared = launcher_.shared_arguments();
    shared.tables = small_.as<std::uint64_t>();
    shared.fault = fault_;
    std::uint64_t* tables = small_.as<std::uint64_t>();
    const auto upload = [&](const ByteTables& of_bytes, int count) {
      const std::vector<std::uint64_t> made = make_tables(of_bytes, count);
      transfer_.upload(std::as_bytes(std::span(made)), tables, main_);
      tables += made.size();
    };
    upload(make_index_tables(layout_), index_tables(layout_));
    upload(make_key_tables(layout_), key_tables(layout_));
    for (int mode = 0; mode < layout_.order(); ++mode) {
      if (config.holds_all(mode)) continue;
      const auto words = std::as_bytes(config.held[index(mode)]->words());
      held_.emplace_back(words.size(), "held rows");
      shared.held[mode].words = held_.back().as<const RowIndex::Word>();
      transfer_.upload(words, held_.back().as<void>(), main_);
    }
  }

  std::string name() const override { return "cuda: " + limits_.name; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override {
    return std::make_unique<PinnedBuffer>(bytes);
  }

  void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    const std::uint64_t offset = offset_of_rows(mode, first_row, rows.size());
    transfer_.upload_numbers(rows, changed_factor(mode) + offset, main_);
  }

  void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    const std::uint64_t offset = offset_of_rows(mode, first_row, rows.size());
    transfer_.download_numbers(factors_[mode].template as<const Factor>() + offset, rows, main_);
  }

  void load_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) override {
    put_rows(mode, config_.columns_of(mode), rows, values, changed_factor(mode), /*adds=*/false);
  }
  void store_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const override {
    get_rows(mode, config_.columns_of(mode), rows, values, factors_[mode].template as<const Factor>());
  }

  std::uint64_t version(int mode) const override { return factors_.version(mode); }

  std::vector<double> take_factor(int mode) override {
    std::vector<double> rows(static_cast<std::size_t>(numbers(mode)));
    transfer_.download_numbers(factors_.take(mode).template as<const Factor>(), rows, main_);
    return rows;
  }

  void load_dual(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    require(has_dual(mode), "load_dual: mode " + std::to_string(mode) + " is not one of dual_modes");
    const std::uint64_t offset = offset_of_rows(mode, first_row, rows.size());
    transfer_.upload_numbers(rows, duals_[mode].template as<Factor>() + offset, main_);
  }

  void store_dual(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    require(has_dual(mode), "store_dual: mode " + std::to_string(mode) + " is not one of dual_modes");
    const std::uint64_t offset = offset_of_rows(mode, first_row, rows.size());
    transfer_.download_numbers(duals_[mode].template as<const Factor>() + offset, rows, main_);
  }

  void begin_pass(const PassRequest& request) override {
    check_product(request, !config_.columns.empty());
    require(config_.all_outputs || !has_several(request.outputs),
            "begin_pass: a backend without all_outputs has room for one output");
    require(!request.continues || (!request.is_mttkrp() && request.outputs == pass_.outputs),
            "begin_pass: a loss pass continues one with the same outputs");
    // After a pass that failed midway, its chunks may still be adding to the output.
    if (pass_runs_) join_streams();
    pending_.clear();
    pass_runs_ = true;
    pass_ = request;
    next_slot_ = next_resident_stream_ = 0;  // so that terms add up in the same order in every pass
    trace_.begin_pass(main_.get());
    outputs_.begin(request.outputs, request.continues, main_.get());
    if (request.is_mttkrp()) {
      MttkrpArguments<Sum, Factor>& shared = launcher_.shared_arguments();
      shared.mode = request.only_mode();
      static_cast<OutputCopies<Sum>&>(shared) = outputs_[shared.mode];
      set_factors(shared);
      if (request.product == Product::kronecker) ttmc_launcher_.emplace(shared, config_, limits_);
    } else {
      begin_loss_pass(request);
    }
    fill_zero(fault_, sizeof(FaultRecord), main_.get());
    zeroed_.record(main_.get());
    for (std::size_t i = 0; i < slots_.size() + resident_streams_.size(); ++i) stream_of(i).wait(zeroed_);
  }

  void submit(int slot, const ChunkView& chunk) override {
    copy_and_compute(static_cast<std::size_t>(slot), chunk, /*staged=*/true);
  }

  void wait_slot(int slot) override {
    const CurrentGpu current(device_);  // else a reader's thread would make a context on the first GPU
    slots_.at(static_cast<std::size_t>(slot)).staged.wait("copying a chunk");
  }
  ResidentId keep(int slot, const ChunkView& chunk, Tier tier) override {
    Resident resident;
    resident.slot = static_cast<std::size_t>(slot);
    resident.crosses_link = tier == Tier::packed;
    if (resident.crosses_link) {
      resident.packed = chunk;
    } else {
      Slot& used = slots_.at(resident.slot);
      resident.chunk = place_chunk(chunk, config_, arena_.as<std::byte>() + arena_used_);
      const std::uint64_t bytes = cuda_chunk_bytes(resident.chunk.payload_bytes);
      require(bytes <= arena_.bytes() - arena_used_,
              "the room planned for chunks on the device is used up at chunk " + std::to_string(chunk.number));
      copy_payloads(chunk, resident.chunk, used.stream.get());
      used.staged.record(used.stream.get());
      arena_used_ += bytes;
    }
    residents_.push_back(std::move(resident));
    return residents_.size() - 1;
  }

  void submit_resident(ResidentId chunk) override {
    const Resident& resident = residents_.at(chunk);
    if (resident.crosses_link) {
      next_slot_ = (next_slot_ + 1) % slots_.size();
      copy_and_compute(next_slot_, resident.packed, /*staged=*/false);
    } else if (chunk >= settled_residents_) {
      compute({{&resident.chunk}}, resident.slot);
    } else {
      pending_.push_back(chunk);
      if (pending_.size() == max_chunks_of_launch) compute_pending();
    }
  }

  void finish_pass() override {
    const NvtxRange range("finish pass");
    compute_pending();
    join_streams();
    outputs_.merge(main_.get());
    passed_.record(main_.get());
    passed_.wait("a pass");
    FaultRecord fault = 0;
    transfer_.download(fault_, std::as_writable_bytes(std::span(&fault, 1)), main_);
    sum_of_terms_ = pass_.is_mttkrp() ? 0 : terms_.total(transfer_, main_);
    pass_runs_ = false;
    settled_residents_ = residents_.size();
    trace_.report();
    if (fault != 0) throw_fault(fault, config_);
  }

  double sum_of_terms() const override { return sum_of_terms_; }
  void read_output(int mode, std::uint64_t first_row, std::span<double> rows) const override {
    const std::uint64_t offset = offset_of_output(mode, first_row, rows.size());
    transfer_.download_numbers<Sum>(outputs_.data(mode) + offset, rows, main_);
  }

  void load_output(int mode, std::uint64_t first_row, std::span<const double> rows) override {
    const std::uint64_t offset = offset_of_output(mode, first_row, rows.size());
    transfer_.upload_numbers(rows, outputs_.data(mode) + offset, main_);
  }
  void read_output_rows(int mode, std::span<const std::uint32_t> rows, std::span<double> values) const override {
    check_filled(mode);
    get_rows(mode, config_.rank, rows, values, outputs_.data(mode));
  }
  void add_output_rows(int mode, std::span<const std::uint32_t> rows, std::span<const double> values) override {
    check_filled(mode);
    put_rows(mode, config_.rank, rows, values, outputs_.data(mode), /*adds=*/true);
  }

  void own(std::vector<OwnedRows> rows) override {
    check_owned_rows(config_.rows(), rows);
    owned_ = std::move(rows);
    for (std::vector<double>& gram : grams_) gram.clear();
  }

  SolvedRows solve_rows(int mode, const RowProblem& problem) override {
    check_row_problem(problem, config_.rank, has_dual(mode));
    const NvtxRange range("solve rows");
    Factor* factor = owned(mode, factors_.begin_update(mode).template as<Factor>());
    OldDeviceRows<Factor> old{owned(mode, factors_.before_update(mode).template as<const Factor>())};
    if (problem.constraint.needs_dual()) {
      duals_.begin_update(mode);
      old.dual = owned(mode, duals_.before_update(mode).template as<const Factor>());
      old.new_dual = owned(mode, duals_[mode].template as<Factor>());
    }
    return dense_.solve_rows(owned(mode, outputs_.data(mode)), owned_rows(mode), problem, old, factor,
                             grams_[index(mode)]);
  }
  void scale_rows(int mode, std::span<const double> divisors) override {
    check_divisors(divisors, config_.rank);
    const NvtxRange range("scale rows");
    dense_.scale_rows(owned(mode, outputs_.data(mode)), owned_rows(mode), divisors,
                      equal_entry(layout_.mode(mode).length), owned(mode, factors_[mode].template as<Factor>()),
                      grams_[index(mode)]);
  }

  void restore_factor(int mode) override {
    factors_.restore(mode);
    duals_.restore(mode);
    grams_[index(mode)].clear();
  }
  std::span<const double> gram(int mode) override {
    std::vector<double>& gram = grams_[index(mode)];
    if (gram.empty()) gram = dense_.gram(owned_factor(mode), owned_rows(mode));
    return gram;
  }

  std::vector<double> column_sums(int mode) override {
    return steps_.column_sums(owned_factor(mode), owned_rows(mode));
  }
  void scale_columns(int mode, std::span<const double> scales, std::span<const double> shifts) override {
    check_scales(scales, shifts, config_.rank);
    steps_.scale_columns(changed_factor(mode), rows_of(mode), scales, shifts);
  }
  void raise_to_zero(int mode) override { steps_.raise_to_zero(changed_factor(mode), rows_of(mode)); }
  std::vector<double> extrapolate(int mode, int vector, const Extrapolation& step) override {
    check_extrapolation(step, config_.rank);
    double* const before = vectors_.rows(vector, mode).data();
    steps_.extrapolate(changed_factor(mode), before, rows_of(mode), step);
    return steps_.column_sums(owned_factor(mode), owned_rows(mode), /*squared=*/true);
  }

  AprViolation apr_measure(int mode, const AprStep& step, bool until_any) override {
    Factor* factor = owned(mode, factors_[mode].template as<Factor>());
    AprViolation violation = steps_.apr_measure(phi(mode, step), factor, owned_rows(mode), step);
    violation.has_stuck_zeros = violation.has_stuck_zeros && !until_any;
    return violation;
  }
  void apr_free_zeros(int mode, const AprStep& step) override {
    steps_.apr_free_zeros(phi(mode, step), owned(mode, changed_factor(mode)), owned_rows(mode), step);
  }
  void apr_multiply(int mode, const AprStep& step) override {
    steps_.apr_multiply(phi(mode, step), owned(mode, changed_factor(mode)), owned_rows(mode), step);
  }

  void load_vector(int vector, int mode, std::uint64_t first_row, std::span<const double> rows) override {
    double* to = vectors_.part(vector, mode, first_row, rows.size()).data();
    if (vectors_[vector].on_device()) return transfer_.upload_numbers(rows, to, main_);
    finish_steps();
    std::ranges::copy(rows, to);
  }
  void store_vector(int vector, int mode, std::uint64_t first_row, std::span<double> rows) const override {
    const double* from = vectors_.part(vector, mode, first_row, rows.size()).data();
    if (vectors_[vector].on_device()) return transfer_.download_numbers(from, rows, main_);
    finish_steps();
    std::copy_n(from, rows.size(), rows.begin());
  }
  void copy_vector(int from, int to) override {
    const auto [source, target] = vectors_.equal_pair(from, to);
    copy_numbers(source.data(), target.data(), target.size(), main_);
  }
  void copy_to_vector(int mode, int vector) override {
    copy_numbers(factors_[mode].template as<const Factor>(), vectors_.rows(vector, mode).data(), numbers(mode), main_);
  }
  void copy_from_vector(int mode, int vector) override {
    const double* rows = vectors_.rows(vector, mode).data();
    copy_numbers(rows, changed_factor(mode), numbers(mode), main_);
  }

  void cg_begin(int mode, const CgStep& step) override {
    check_cg_step(step, config_.rank);
    steps_.cg_begin(vector_rows(mode), step);
  }
  void cg_step(int mode, const CgStep& step) override { steps_.cg_step(vector_rows(mode), step); }
  double cg_end(int mode) override {
    return steps_.cg_end(owned_vector(0, mode), owned(mode, changed_factor(mode)), owned_rows(mode));
  }
  void adam_step(int mode, const AdamStep& step) override {
    check_adam_step(step, config_.rank);
    steps_.adam_step(vector_rows(mode), step);
  }

 private:
  static std::size_t index(int mode) { return static_cast<std::size_t>(mode); }
  std::uint64_t rows_of(int mode) const { return config_.rows_of(mode); }
  // Of a matrix with so many columns.
  template <class Number>
  void put_rows(int mode, int columns, std::span<const std::uint32_t> rows, std::span<const double> values, Number* to,
                bool adds) {
    check_row_list(rows_of(mode), columns, rows, values.size());
    transfer_.move_rows(rows, values, columns, main_,
                        [&](const ScatteredRows& part) { cuda::put_rows(part, to, adds, main_); });
  }
  template <class Number>
  void get_rows(int mode, int columns, std::span<const std::uint32_t> rows, std::span<double> values,
                const Number* from) const {
    check_row_list(rows_of(mode), columns, rows, values.size());
    transfer_.move_rows(rows, values, columns, main_,
                        [&](const ScatteredRows& part) { cuda::get_rows(part, from, main_); });
  }
  // Of the factor.
  std::uint64_t numbers(int mode) const { return rows_of(mode) * static_cast<std::uint64_t>(config_.columns_of(mode)); }

  // Of all rows of R numbers of a mode, the first that is owned; and how many are.
  template <class Number>
  Number* owned(int mode, Number* rows) const {
    return rows + owned_[index(mode)].begin * static_cast<std::uint64_t>(config_.rank);
  }
  std::uint64_t owned_rows(int mode) const { return owned_[index(mode)].count(); }
  const Factor* owned_factor(int mode) const { return owned(mode, factors_[mode].template as<const Factor>()); }
  double* owned_vector(int vector, int mode) const { return owned(mode, vectors_.rows(vector, mode).data()); }

  void check_filled(int mode) const {
    require(has_mode(pass_.outputs, mode), "the last pass has not filled mode " + std::to_string(mode));
  }
  const Sum* phi(int mode, const AprStep& step) const {
    check_apr_step(step, config_.rank);
    check_filled(mode);
    return owned(mode, outputs_.data(mode));
  }
  VectorRows<Sum, Factor> vector_rows(int mode) {
    check_filled(mode);
    return {owned(mode, outputs_.data(mode)), owned(mode, changed_factor(mode)), owned_vector(0, mode),
            owned_vector(1, mode), owned_rows(mode)};
  }
  // The host may read and write pinned vectors afterwards.
  void finish_steps() const {
    stepped_.record(main_.get());
    stepped_.wait("steps over rows");
  }
  Factor* changed_factor(int mode) {
    grams_[index(mode)].clear();
    factors_.mark_changed(mode);
    return factors_[mode].template as<Factor>();
  }

  bool has_dual(int mode) const { return has_mode(config_.dual_modes, mode); }
  void add_factor(int mode) {
    const auto allocate = [&] { return DeviceBuffer(numbers(mode) * sizeof(Factor), "a factor"); };
    const auto allocate_dual = [&] {
      return DeviceBuffer(has_dual(mode) ? numbers(mode) * sizeof(Factor) : 0, "a dual");
    };
    factors_.add(config_.keep_previous, allocate);
    duals_.add(config_.keep_previous, allocate_dual);
    if (has_dual(mode)) fill_zero(duals_[mode].template as<Factor>(), duals_[mode].bytes(), main_.get());
  }

  std::uint64_t offset_of_rows(int mode, std::uint64_t first_row, std::size_t count) const {
    check_row_block(rows_of(mode), config_.columns_of(mode), first_row, count);
    return first_row * static_cast<std::uint64_t>(config_.columns_of(mode));
  }
  std::uint64_t offset_of_output(int mode, std::uint64_t first_row, std::size_t count) const {
    check_filled(mode);
    const std::uint64_t columns = config_.output_columns_of(mode);
    check_row_block(rows_of(mode), static_cast<int>(columns), first_row, count);
    return first_row * columns;
  }
  void copy_and_compute(std::size_t slot, const ChunkView& chunk, bool staged) {
    Slot& used = slots_.at(slot);
    const DeviceChunk placed = place_chunk(chunk, config_, used.memory.template as<std::byte>());
    const auto begin = trace_.mark(used.stream.get());
    copy_payloads(chunk, placed, used.stream.get());
    if (staged) used.staged.record(used.stream.get());
    trace_.add("copy " + std::to_string(slot), "copy", chunk.number, placed.payload_bytes, begin,
               trace_.mark(used.stream.get()));
    compute({{&placed}}, slot);
  }

  void begin_loss_pass(const PassRequest& request) {
    if (!loss_launcher_) loss_launcher_.emplace(launcher_.shared_arguments(), limits_, config_.gpu.conflict_resolution);
    LossArguments<Sum, Factor>& shared = loss_launcher_->shared_arguments();
    shared.function = *request.function;
    shared.outputs = request.outputs;
    for (int mode = 0; mode < layout_.order(); ++mode) {
      if (has_mode(request.outputs, mode)) shared.output[mode] = outputs_[mode];
    }
    set_factors(shared);
    if (!request.continues) terms_.clear(main_.get());
  }

  void set_factors(FrameArguments<Factor>& arguments) const {
    for (int m = 0; m < layout_.order(); ++m) arguments.factors[m] = factors_[m].template as<const Factor>();
  }
  void compute(std::span<const DeviceChunk* const> chunks, std::size_t stream) {
    const bool is_ttmc = pass_.product == Product::kronecker;
    const NvtxRange range(is_ttmc ? "ttmc" : pass_.is_mttkrp() ? "mttkrp" : "loss pass");
    cudaStream_t queue = stream_of(stream).get();
    const auto begin = trace_.mark(queue);
    const char* name = is_ttmc             ? ttmc_launcher_->launch(chunks, queue)
                       : pass_.is_mttkrp() ? launcher_.launch(chunks, queue)
                                           : loss_launcher_->launch(chunks, terms_.of_stream(stream), queue);
    trace_.add(stream < slots_.size() ? "kernel " + std::to_string(stream)
                                      : "kernel of residents " + std::to_string(stream - slots_.size()),
               name, chunks.front()->number, 0, begin, trace_.mark(queue));
  }

  // A launch of many chunks has many frames for each warp, and few warps that wait for the last of them.
  void compute_pending() {
    if (pending_.empty()) return;
    std::vector<const DeviceChunk*> chunks;
    for (const ResidentId id : pending_) chunks.push_back(&residents_[id].chunk);
    pending_.clear();
    next_resident_stream_ = (next_resident_stream_ + 1) % resident_streams_.size();
    compute(chunks, slots_.size() + next_resident_stream_);
  }

  // Those of slots, then those of residents.
  Stream& stream_of(std::size_t number) {
    return number < slots_.size() ? slots_[number].stream : resident_streams_[number - slots_.size()];
  }
  // Makes the main stream wait for all others.
  void join_streams() {
    for (std::size_t i = 0; i < slots_.size() + resident_streams_.size(); ++i) {
      joined_.record(stream_of(i).get());
      main_.wait(joined_);
    }
  }

  BackendConfig config_;
  DeviceLimits limits_;
  int device_;  // its number
  TensorLayout layout_;
  bool pass_runs_ = false;
  PassRequest pass_ = 0;
  double sum_of_terms_ = 0;
  std::size_t next_slot_ = 0;
  std::size_t next_resident_stream_ = 0;
  std::size_t settled_residents_ = 0;  // whose copies had ended when the pass began
  std::vector<ResidentId> pending_;    // settled residents that wait to be launched together

  FactorSet<DeviceBuffer> factors_;
  FactorSet<DeviceBuffer> duals_;  // empty but for modes that ADMM solves
  DeviceOutputs<Sum> outputs_;
  DeviceTerms terms_;
  DenseSizes dense_sizes_;
  DeviceBuffer scratch_;  // of the dense work
  DeviceBuffer small_;    // tables of lines, fault record
  std::vector<DeviceBuffer> held_;
  FaultRecord* fault_ = nullptr;
  DeviceBuffer arena_;
  std::uint64_t arena_used_ = 0;
  MethodVectors<DeviceVector> vectors_;
  MttkrpLauncher<Sum, Factor> launcher_;
  std::optional<TtmcLauncher<Sum, Factor>> ttmc_launcher_;  // of the last pass of Kronecker products
  std::optional<LossLauncher<Sum, Factor>> loss_launcher_;  // from the first loss pass on

  std::vector<std::vector<double>> grams_;  // on the host; empty: out of date
  std::vector<OwnedRows> owned_;            // per mode
  std::vector<Resident> residents_;
  DeviceTrace trace_;
  Event zeroed_;
  Event joined_;
  Event passed_{Event::Timing::off, cudaEventBlockingSync};  // who polls keeps a processor busy for the whole pass
  // Streams are declared after all memory that their work uses, so that they are destroyed first.
  mutable StagedTransfer transfer_;
  mutable Event stepped_;
  mutable Stream main_;
  DenseWork dense_;
  DeviceSteps<Sum, Factor> steps_;
  std::vector<Stream> resident_streams_;
  std::vector<Slot> slots_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const BackendConfig& config, const DeviceLimits& limits) {
  check_backend_config(config, "CUDA");
  require(config.orders.empty(), "the CUDA backend takes chunks in the natural order alone");
  require(config.columns.empty() || config.layout.order() > 2,
          "the CUDA backend has Kronecker products of three modes or more");
  require(config.slots >= 1, "the device needs at least one slot");
  return with_precision(config.precision, [&]<class Sum, class Factor>() -> std::unique_ptr<Backend> {
    return std::make_unique<CudaBackend<Sum, Factor>>(config, limits);
  });
}

}  // namespace blco
