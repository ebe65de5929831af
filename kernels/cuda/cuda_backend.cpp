// The CUDA backend: lanes carry chunks across the link and compute them; dense work has its own stream.
//
// Order of streams: a pass begins on the main stream, which zeroes the output; every other stream waits for that. A
// lane's copy, kernel and next copy are ordered by the lane's stream. To end a pass, the main stream waits for all
// others, merges the copies of the output and reads back the fault record. Nothing in a pass waits for the whole
// device.
#include "kernels/cuda_backend.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "blco/bits.hpp"
#include "blco/option_name.hpp"
#include "kernels/backend_checks.hpp"
#include "kernels/cuda/dense.hpp"
#include "kernels/cuda/device_chunk.hpp"
#include "kernels/cuda/device_memory.hpp"
#include "kernels/cuda/device_trace.hpp"
#include "kernels/cuda/mttkrp.hpp"
#include "kernels/cuda/nvtx_range.hpp"
#include "kernels/cuda/resolution.hpp"
#include "kernels/cuda/staged_transfer.hpp"
#include "kernels/factor_set.hpp"

namespace blco {
namespace {

using namespace cuda;

// Two kernels on resident chunks at a time: the second fills multiprocessors that the first leaves idle at its end.
constexpr std::size_t resident_streams = 2;

[[noreturn]] void throw_fault(FaultRecord fault) {
  throw Error(ErrorKind::corrupt, "chunk " + std::to_string((fault >> 8) - 1) + ": a coordinate of mode " +
                                      std::to_string(fault & 255) +
                                      " lies outside the tensor; the file is damaged, ingest it again");
}

// A device buffer, its stream, and the event recorded after the copy from the staging buffer of the same number.
struct Lane {
  explicit Lane(std::uint64_t bytes) : memory(bytes, "a lane"), stream(Stream::Priority::urgent) {}

  DeviceBuffer memory;
  Stream stream;
  Event staged;
};

struct Resident {
  DeviceChunk chunk;  // in device memory, or packed
  ChunkView packed;   // in the caller's pinned memory, if sent over the link in every pass
  bool crosses_link = false;
  std::size_t lane = 0;  // whose stream copies it, until the end of the pass that keeps it
};

template <class Real>
class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(const CudaConfig& config);

  std::string name() const override { return "cuda: " + config_.limits.name; }
  std::unique_ptr<HostBuffer> allocate_host(std::uint64_t bytes) override {
    return std::make_unique<PinnedBuffer>(bytes);
  }

  void load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) override;
  void store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const override;
  std::vector<double> take_factor(int mode) override;

  void begin_pass(int mode) override;
  void submit(int lane, const ChunkView& chunk) override;
  void wait_lane(int lane) override { lanes_.at(static_cast<std::size_t>(lane)).staged.wait("copying a chunk"); }
  ResidentId keep(int lane, const ChunkView& chunk, ResidentForm form) override;
  void submit_resident(ResidentId chunk) override;
  void finish_pass() override;
  void read_output(std::span<double> rows) const override;

  RowUpdate update_rows(int mode, const RowSolver& solver) override;
  void restore_factor(int mode) override { factors_.restore(mode); }
  std::span<const double> gram(int mode) override;

 private:
  static std::size_t index(int mode) { return static_cast<std::size_t>(mode); }
  std::uint64_t length(int mode) const { return layout_.mode(mode).length; }
  std::uint64_t numbers(int mode) const { return length(mode) * static_cast<std::uint64_t>(config_.backend.rank); }

  void add_factor(int mode);
  std::uint64_t offset_of_rows(int mode, std::uint64_t first_row, std::size_t count) const {
    check_row_block(length(mode), config_.backend.rank, first_row, count);
    return first_row * static_cast<std::uint64_t>(config_.backend.rank);
  }
  void copy_and_compute(std::size_t lane, const ChunkView& chunk, bool staged);
  void compute(const DeviceChunk& chunk, cudaStream_t stream, const std::string& track);
  MttkrpArguments<Real> arguments_of(const DeviceChunk& chunk) const;
  template <class Visit>
  void for_each_stream(const Visit& visit);
  void join_streams();

  CudaConfig config_;
  TensorLayout layout_;
  bool pass_runs_ = false;
  int pass_mode_ = 0;
  int copies_ = 1;  // of the output in this pass
  std::size_t next_lane_ = 0;
  std::size_t next_resident_stream_ = 0;
  std::size_t settled_residents_ = 0;  // whose copies had ended when the pass began

  FactorSet<DeviceBuffer> factors_;
  DeviceBuffer output_;
  DeviceBuffer copies_memory_;
  DeviceBuffer scratch_;
  DeviceBuffer solver_;  // two R x R matrices
  DeviceBuffer small_;   // byte tables, sums, Gram, fault record
  std::uint64_t* byte_tables_ = nullptr;
  double* sums_ = nullptr;
  double* gram_ = nullptr;
  FaultRecord* fault_ = nullptr;
  DeviceBuffer arena_;
  std::uint64_t arena_used_ = 0;

  std::vector<std::vector<double>> grams_;  // on the host; empty: out of date, rows were loaded
  std::vector<Resident> residents_;
  DeviceTrace trace_;
  Event zeroed_;
  Event joined_;
  // Streams are declared after all memory that their work uses, so that they are destroyed first.
  mutable StagedTransfer transfer_;
  mutable Stream main_;
  std::vector<Stream> resident_streams_;
  std::vector<Lane> lanes_;
};

template <class Real>
CudaBackend<Real>::CudaBackend(const CudaConfig& config)
    : config_(config),
      layout_(config.backend.layout),
      output_(std::ranges::max(layout_.shape()) * static_cast<std::uint64_t>(config.backend.rank) * sizeof(Real),
              "the output"),
      copies_memory_(std::min(config.backend.private_bytes, cuda_backend_useful_private_bytes(config)),
                     "copies of the output"),
      scratch_(dense_scratch_bytes(std::ranges::max(layout_.shape()), config.backend.rank), "scratch"),
      trace_(config.backend.trace) {
  const auto rank = static_cast<std::uint64_t>(config.backend.rank);
  const std::uint64_t matrix = rank * rank;
  for (int mode = 0; mode < layout_.order(); ++mode) {
    add_factor(mode);
    grams_.emplace_back();
  }
  solver_ = DeviceBuffer(2 * matrix * sizeof(double), "the solver");
  small_ = DeviceBuffer(sizeof(BlcoByteTables) + (matrix + rank + 1) * sizeof(double) + sizeof(FaultRecord), "tables");
  byte_tables_ = small_.as<std::uint64_t>();
  gram_ = small_.as<double>() + sizeof(BlcoByteTables) / sizeof(double);
  sums_ = gram_ + matrix;
  fault_ = reinterpret_cast<FaultRecord*>(sums_ + rank + 1);
  arena_ = DeviceBuffer(config.resident_bytes, "chunks that stay on the device");
  for (std::size_t i = 0; i < resident_streams; ++i) resident_streams_.emplace_back();
  for (int lane = 0; lane < config.lanes; ++lane) lanes_.emplace_back(config.lane_bytes);

  const BlcoByteTables tables = make_byte_tables(layout_);
  transfer_.upload(std::as_bytes(std::span(&tables, 1)), byte_tables_, main_);
}

template <class Real>
void CudaBackend<Real>::add_factor(int mode) {
  const auto allocate = [&] { return DeviceBuffer(numbers(mode) * sizeof(Real), "a factor"); };
  if (config_.backend.keep_previous) {
    factors_.add(allocate(), allocate());
  } else {
    factors_.add(allocate());
  }
}

template <class Real>
void CudaBackend<Real>::load_factor(int mode, std::uint64_t first_row, std::span<const double> rows) {
  const std::uint64_t offset = offset_of_rows(mode, first_row, rows.size());
  transfer_.upload_numbers(rows, factors_[mode].template as<Real>() + offset, main_);
  grams_[index(mode)].clear();
}

template <class Real>
void CudaBackend<Real>::store_factor(int mode, std::uint64_t first_row, std::span<double> rows) const {
  const std::uint64_t offset = offset_of_rows(mode, first_row, rows.size());
  transfer_.download_numbers(factors_[mode].template as<const Real>() + offset, rows, main_);
}

template <class Real>
std::vector<double> CudaBackend<Real>::take_factor(int mode) {
  std::vector<double> rows(static_cast<std::size_t>(numbers(mode)));
  transfer_.download_numbers(factors_.take(mode).template as<const Real>(), rows, main_);
  return rows;
}

template <class Real>
template <class Visit>
void CudaBackend<Real>::for_each_stream(const Visit& visit) {
  for (Stream& stream : resident_streams_) visit(stream);
  for (Lane& lane : lanes_) visit(lane.stream);
}

// Makes the main stream wait for all others.
template <class Real>
void CudaBackend<Real>::join_streams() {
  for_each_stream([this](Stream& stream) {
    joined_.record(stream.get());
    main_.wait(joined_);
  });
}

template <class Real>
void CudaBackend<Real>::begin_pass(int mode) {
  // After a pass that failed midway, its chunks may still be adding to the output.
  if (pass_runs_) join_streams();
  pass_runs_ = true;
  pass_mode_ = mode;
  const std::uint64_t bytes = numbers(mode) * sizeof(Real);
  copies_ = copies_of_output(config_.limits, config_.resolution, length(mode), bytes, copies_memory_.bytes());
  trace_.begin_pass(main_.get());
  fill_zero(output_.as<Real>(), bytes, main_.get());
  if (copies_ > 1) fill_zero(copies_memory_.as<Real>(), static_cast<std::uint64_t>(copies_ - 1) * bytes, main_.get());
  fill_zero(fault_, sizeof(FaultRecord), main_.get());
  zeroed_.record(main_.get());
  for_each_stream([this](Stream& stream) { stream.wait(zeroed_); });
}

template <class Real>
void CudaBackend<Real>::submit(int lane, const ChunkView& chunk) {
  copy_and_compute(static_cast<std::size_t>(lane), chunk, /*staged=*/true);
}

template <class Real>
void CudaBackend<Real>::copy_and_compute(std::size_t lane, const ChunkView& chunk, bool staged) {
  Lane& used = lanes_.at(lane);
  const DeviceChunk placed = place_chunk(chunk, layout_, used.memory.template as<std::byte>());
  const auto begin = trace_.mark(used.stream.get());
  copy_payloads(chunk, placed, used.stream.get());
  if (staged) used.staged.record(used.stream.get());
  trace_.add("copy " + std::to_string(lane), "copy", chunk.number, placed.payload_bytes, begin,
             trace_.mark(used.stream.get()));
  compute(placed, used.stream.get(), "kernel " + std::to_string(lane));
}

template <class Real>
ResidentId CudaBackend<Real>::keep(int lane, const ChunkView& chunk, ResidentForm form) {
  Resident resident;
  resident.lane = static_cast<std::size_t>(lane);
  resident.crosses_link = form == ResidentForm::packed;
  if (resident.crosses_link) {
    resident.packed = chunk;
  } else {
    Lane& used = lanes_.at(resident.lane);
    resident.chunk = place_chunk(chunk, layout_, arena_.as<std::byte>() + arena_used_);
    const std::uint64_t bytes = cuda_chunk_bytes(resident.chunk.payload_bytes);
    require(bytes <= arena_.bytes() - arena_used_,
            "the room planned for chunks on the device is used up at chunk " + std::to_string(chunk.number));
    arena_used_ += bytes;
    copy_payloads(chunk, resident.chunk, used.stream.get());
    used.staged.record(used.stream.get());
  }
  residents_.push_back(std::move(resident));
  return residents_.size() - 1;
}

template <class Real>
void CudaBackend<Real>::submit_resident(ResidentId chunk) {
  const Resident& resident = residents_.at(chunk);
  if (resident.crosses_link) {
    next_lane_ = (next_lane_ + 1) % lanes_.size();
    copy_and_compute(next_lane_, resident.packed, /*staged=*/false);
  } else if (chunk >= settled_residents_) {
    compute(resident.chunk, lanes_[resident.lane].stream.get(), "kernel " + std::to_string(resident.lane));
  } else {
    next_resident_stream_ = (next_resident_stream_ + 1) % resident_streams_.size();
    compute(resident.chunk, resident_streams_[next_resident_stream_].get(),
            "kernel of residents " + std::to_string(next_resident_stream_));
  }
}

template <class Real>
MttkrpArguments<Real> CudaBackend<Real>::arguments_of(const DeviceChunk& chunk) const {
  MttkrpArguments<Real> arguments;
  arguments.index = chunk.payload[static_cast<std::size_t>(Column::index)];
  if (layout_.has_key()) arguments.key = chunk.payload[static_cast<std::size_t>(Column::key)];
  arguments.value = chunk.payload[static_cast<std::size_t>(Column::value)];
  arguments.chunk = chunk.number;
  arguments.nnz = static_cast<std::uint32_t>(chunk.nnz);
  arguments.order = layout_.order();
  arguments.mode = pass_mode_;
  arguments.rank = config_.backend.rank;
  for (int mode = 0; mode < layout_.order(); ++mode) {
    const ModeLayout& bits = layout_.mode(mode);
    arguments.coordinates[mode] = {bits.field, bits.key_mask, bits.length, bits.shift, bits.low_bits};
    arguments.factors[mode] = factors_[mode].template as<const Real>();
  }
  arguments.byte_tables = byte_tables_;
  arguments.index_bytes = (std::min(layout_.line_bits(), 64) + 7) / 8;
  arguments.output = output_.as<Real>();
  arguments.more_copies = copies_memory_.as<Real>();
  arguments.copy_stride = numbers(pass_mode_);
  arguments.copy_count = copies_;
  arguments.fault = fault_;
  return arguments;
}

template <class Real>
void CudaBackend<Real>::compute(const DeviceChunk& chunk, cudaStream_t stream, const std::string& track) {
  MttkrpArguments<Real> arguments = arguments_of(chunk);
  LaunchRequest request;
  request.order = layout_.order();
  request.has_key = layout_.has_key();
  request.index_bytes = arguments.index_bytes;
  request.nnz = chunk.nnz;
  request.rows = chunk.rows[index(pass_mode_)];
  request.bytes_of_row = static_cast<std::uint64_t>(config_.backend.rank) * sizeof(Real);
  request.resolution = config_.resolution;
  const LaunchPlan plan = plan_launch(config_.limits, request);
  arguments.stash_first = plan.stash_first;
  arguments.stash_rows = plan.stash_rows;

  const NvtxRange range("mttkrp");
  const auto begin = trace_.mark(stream);
  launch_mttkrp(arguments, plan.shape, stream);
  trace_.add(track, plan.stash_rows > 0 ? "mttkrp (hierarchical)" : "mttkrp (register-based)", chunk.number, 0, begin,
             trace_.mark(stream));
}

template <class Real>
void CudaBackend<Real>::finish_pass() {
  const NvtxRange range("finish pass");
  join_streams();
  if (copies_ > 1) {
    merge_copies(output_.as<Real>(), copies_memory_.as<const Real>(), copies_ - 1, numbers(pass_mode_), main_.get());
  }
  FaultRecord fault = 0;
  transfer_.download(fault_, std::as_writable_bytes(std::span(&fault, 1)), main_);
  pass_runs_ = false;
  settled_residents_ = residents_.size();
  trace_.report();
  if (fault != 0) throw_fault(fault);
}

template <class Real>
void CudaBackend<Real>::read_output(std::span<double> rows) const {
  require(rows.size() == numbers(pass_mode_), "the output has another size");
  transfer_.download_numbers(output_.as<const Real>(), rows, main_);
}

template <class Real>
RowUpdate CudaBackend<Real>::update_rows(int mode, const RowSolver& solver) {
  const NvtxRange range("update rows");
  const int rank = config_.backend.rank;
  const std::size_t columns = static_cast<std::size_t>(rank);
  SolverView view{solver_.as<double>(), nullptr};
  transfer_.upload(std::as_bytes(solver.matrix()), solver_.as<double>(), main_);
  if (solver.is_cholesky()) {
    view.lower = solver_.as<double>() + columns * columns;
    transfer_.upload(std::as_bytes(solver.lower()), solver_.as<double>() + columns * columns, main_);
  }
  Real* factor = factors_.begin_update(mode).template as<Real>();
  solve_rows<Real>(output_.as<const Real>(), length(mode), rank, view, factor, sums_, scratch_.as<void>(), main_.get());
  normalise_columns<Real>(factor, length(mode), rank, sums_, main_.get());

  std::vector<double> sums(columns + 1);
  transfer_.download(sums_, std::as_writable_bytes(std::span(sums)), main_);
  RowUpdate update;
  update.inner = sums.back();
  for (std::size_t r = 0; r < columns; ++r) update.norms.push_back(std::sqrt(sums[r]));
  grams_[index(mode)].clear();
  return update;
}

template <class Real>
std::span<const double> CudaBackend<Real>::gram(int mode) {
  std::vector<double>& gram = grams_[index(mode)];
  if (gram.empty()) {
    const int rank = config_.backend.rank;
    cuda::gram<Real>(factors_[mode].template as<const Real>(), length(mode), rank, gram_, scratch_.as<void>(),
                     main_.get());
    gram.resize(static_cast<std::size_t>(rank) * static_cast<std::size_t>(rank));
    transfer_.download(gram_, std::as_writable_bytes(std::span(gram)), main_);
  }
  return gram;
}

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(const CudaConfig& config) {
  check_backend_config(config.backend, "CUDA");
  require(config.lanes >= 1, "the device needs at least one lane");
  require(config.backend.precision != Precision::mixed,
          "the GPU computes in f64 or f32 only, not in mixed precision; use one of these, or " +
              option_name("device", "cpu"));
  if (config.backend.precision == Precision::f32) return std::make_unique<CudaBackend<float>>(config);
  return std::make_unique<CudaBackend<double>>(config);
}

}  // namespace blco
