// The public function of evaluate.hpp.
#include <blco/evaluate.hpp>
#include <string>
#include <utility>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/check_options.hpp"
#include "engine/fit/methods/gcp_objective.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/job.hpp"
#include "engine/work/original_rows.hpp"
#include "engine/work/rows/row_blocks.hpp"

namespace blco {
namespace {

void check_loss(const Loss& loss, AbsentCells absent) {
  check_parameter(loss);
  if (absent == AbsentCells::zeros && !sums_over_zeros(loss)) {
    refuse("loss " + to_string(loss) +
           " has no closed form of its sum over all zeros, as gaussian and poisson have; evaluate it with " +
           option_name("absent", "unknown") + ", over the entries alone");
  }
}

JobNeeds evaluation_needs(const Tensor& tensor, std::span<const MatrixView> factors, int rank, Precision precision) {
  JobNeeds needs = needs_of(tensor, rank, precision);
  std::uint64_t factor_bytes = 0;
  for (const MatrixView& factor : factors) factor_bytes += factor.numbers().size_bytes();
  const auto columns = static_cast<std::uint64_t>(rank);
  needs.caller.take_by_rank("the factors that are given", 2 * factor_bytes);
  needs.caller.take_by_rank("systems of R x R numbers", (numbers_of_block(rank) + columns * columns) * sizeof(double));
  needs.best_tier = Tier::streamed;
  needs.backend.all_outputs = true;
  return needs;
}

}  // namespace

LossValue evaluate(const Tensor& tensor, std::span<const MatrixView> factors, const Loss& loss, AbsentCells absent,
                   const Compute& compute, const ProgressCallback& on_progress) {
  ProgressMeter meter(on_progress, 0);
  const TensorSummary& summary = tensor.summary();
  const int rank = check_factors(summary, factors);
  check_rank(rank);
  check_loss(loss, absent);
  JobNeeds needs = evaluation_needs(tensor, factors, rank, compute.precision);
  needs.backend.stop = [&meter] { return meter.poll(); };
  Job job(tensor, compute, needs);
  const std::unique_ptr<WorkerGroup> workers = job.make_workers(&meter);
  OriginalRows rows(TensorChunks::of(tensor), workers->factors(), rank, job.has_factors_on_device());
  for (std::size_t n = 0; n < factors.size(); ++n) rows.load(static_cast<int>(n), 0, factors[n].numbers());
  GcpObjective objective(*workers, summary.shape, rank, loss, absent);
  meter.begin({.name = "pass", .nonzeros = summary.nnz});
  workers->pass(objective.pass());
  meter.end();
  LossValue result;
  result.passes = 1;
  result.value = objective.value();
  for (std::size_t n = 0; n < factors.size(); ++n) {
    std::vector<double> gradient(factors[n].numbers().size());
    objective.read_gradient(static_cast<int>(n), 0, gradient);
    rows.reorder(static_cast<int>(n), gradient);
    result.gradients.push_back(std::move(gradient));
  }
  job.close_trace();
  return result;
}

}  // namespace blco
