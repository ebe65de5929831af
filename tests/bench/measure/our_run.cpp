// Our own format in a comparison: a job like that of a benchmark, on the same tensor.
#include <algorithm>
#include <blco/memory_tensor.hpp>
#include <utility>

#include "engine/fit/initial_factors.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/job.hpp"
#include "kernels/host/arranged_nonzeros.hpp"
#include "tests/bench/measure/format_run.hpp"
#include "tests/bench/measure/stopwatch.hpp"

namespace blco {
namespace {

JobNeeds needs_of(const FormatSetup& setup, Tier best_tier) {
  JobNeeds needs = needs_of(*setup.tensor, setup.options.rank, setup.options.compute.precision);
  needs.best_tier = best_tier;
  needs.passes_by_mode = true;
  needs.backend.gpu.variant = setup.variant;
  needs.backend.gpu.conflict_resolution = setup.conflict_resolution;
  return needs;
}

class OurRun final : public FormatRun {
 public:
  OurRun(const FormatSetup& setup, Tier best_tier)
      : tensor_(*setup.tensor),
        job_(tensor_, setup.options.compute, needs_of(setup, best_tier)),
        rows_(TensorChunks::of(tensor_), job_.backend(), setup.options.rank, job_.device() != nullptr) {
    load_initial_factors(tensor_.summary(), setup.options, nullptr, rows_);
    streamer_ = job_.make_streamer();
    build_seconds_ = seconds_to_pack(setup) + seconds_to_settle();
  }

  void pass(int mode) override { streamer_->pass(mode, direction_of(mode, 0)); }

  void read_output(int mode, std::span<double> rows) override {
    job_.backend().read_output(mode, 0, rows);
    rows_.reorder(mode, rows);
    rows_.release();
  }

  RivalWork work(int mode) const override {
    MeasuredFormat stored;
    describe(stored);
    return work_of_ours(loads_of(job_)[static_cast<std::size_t>(mode)],
                        static_cast<double>(stored.index_bytes + stored.value_bytes));
  }

  std::uint64_t host_bytes() const override { return job_.plan().planned_bytes; }

  void describe(MeasuredFormat& format) const override {
    const TensorSummary& summary = tensor_.summary();
    const CpdPlan plan = job_.describe();
    if (plan.decoded_chunks == plan.chunk_count) {
      const std::uint64_t words = TensorLayout(summary.shape).has_high_word() ? 2 : 1;
      format.index_bytes = summary.nnz * words * sizeof(std::uint64_t);
      format.value_bytes = summary.value.streamed_bytes == 0 ? 0 : summary.nnz * sizeof(double);
    } else {
      format.index_bytes = summary.index.streamed_bytes + summary.high_word.streamed_bytes;
      format.value_bytes = summary.value.streamed_bytes;
    }
    format.auxiliary_bytes = job_.plan().private_bytes + job_.plan().arranged_bytes;
    format.copies = 1;
    format.build_seconds = build_seconds_;
    format.settings = tiers_in_words(plan);
  }

 private:
  static std::string tiers_in_words(const CpdPlan& plan) {
    std::string text;
    const auto add = [&](std::uint64_t chunks, const char* tier) {
      if (chunks == 0) return;
      text += (text.empty() ? "" : ", ") + std::to_string(chunks) + " chunk" + (chunks == 1 ? " " : "s ") + tier;
    };
    add(plan.device_chunks, "on the device");
    add(plan.decoded_chunks, "decoded");
    add(plan.packed_chunks, "packed");
    add(plan.streamed_chunks, "streamed");
    return text;
  }

  // From coordinates to chunks in memory, as an ingest does between reading and writing.
  static double seconds_to_pack(const FormatSetup& setup) {
    CoordinateArrays arrays;
    for (const auto& of_mode : setup.natural->coordinates) arrays.coordinates.emplace_back(of_mode);
    arrays.values = setup.natural->values;
    IngestOptions options;
    options.shape = setup.natural->shape;
    options.threads = setup.options.compute.threads;
    return seconds_of([&] { const MemoryTensor packed(arrays, options); });
  }

  // The first passes bring chunks to their place and arrange copies; what they take beyond passes of later ones.
  double seconds_to_settle() {
    double more = std::max(0.0, seconds_of([&] { pass(0); }) - seconds_of([&] { pass(0); }));
    if (job_.describe().decoded_chunks == 0) return more;
    for (std::size_t mode = 0; mode < tensor_.summary().shape.size(); ++mode) {
      const auto pass_mode = [&] { pass(static_cast<int>(mode)); };
      double settling = 0;
      for (int i = 0; i <= passes_before_arranging; ++i) settling += seconds_of(pass_mode);
      const double settled = std::min(seconds_of(pass_mode), seconds_of(pass_mode));
      more += std::max(0.0, settling - (passes_before_arranging + 1) * settled);
    }
    return more;
  }

  const Tensor& tensor_;
  Job job_;
  OriginalRows rows_;
  std::unique_ptr<Streamer> streamer_;
  double build_seconds_ = 0;
};

}  // namespace

std::unique_ptr<FormatRun> make_our_run(const FormatSetup& setup, Tier best_tier) {
  return std::make_unique<OurRun>(setup, best_tier);
}

}  // namespace blco
