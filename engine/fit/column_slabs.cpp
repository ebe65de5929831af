#include "engine/fit/column_slabs.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/device_list.hpp"
#include "engine/work/rows/row_blocks.hpp"

namespace blco {
namespace {

// Columns of one pass: beyond, an MTTKRP takes no less time per column.
constexpr std::uint64_t max_slab = 64;

std::vector<std::uint64_t> first_columns(std::uint64_t count) {
  std::vector<std::uint64_t> columns(static_cast<std::size_t>(count));
  std::iota(columns.begin(), columns.end(), std::uint64_t{0});
  return columns;
}

}  // namespace

JobNeeds slab_needs(const Tensor& tensor, int columns, Precision precision, const Account& caller,
                    const MatrixSizes& matrices, const StopPoll& stop) {
  JobNeeds needs = needs_of(tensor, columns, precision);
  needs.caller.take(caller);
  needs.passes_by_mode = true;
  needs.matrices = matrices;
  needs.backend.stop = stop;
  return needs;
}

SlabJob::SlabJob(const Tensor& tensor, const Compute& compute, std::uint64_t choices, std::uint64_t group,
                 const std::function<SlabMemory(std::uint64_t slab)>& memory, const StopPoll& stop, bool is_fixed,
                 const std::vector<int>& columns, const std::string& lower, double share_of_rank_1) {
  const auto needs_with = [&](int rank, std::uint64_t of_slab) {
    SlabMemory needed = memory(of_slab);
    needed.matrices.slab = of_slab;
    JobNeeds needs = slab_needs(tensor, rank, compute.precision, needed.caller, needed.matrices, stop);
    needs.lower_rank = lower;
    needs.share_of_rank_1 = share_of_rank_1;
    return needs;
  };
  if (columns.size() > 2 && has_one_device(compute)) {
    JobNeeds products = needs_with(std::ranges::max(columns), 0);
    products.backend.columns = columns;
    if (make(tensor, compute, products)) return;
  }
  for (slab = std::min(choices, max_slab);; slab /= 2) {
    if (slab > group) slab = slab / group * group;
    const bool is_last = slab == 1 || is_fixed;
    if (make(tensor, compute, needs_with(static_cast<int>(slab), slab), is_last)) return;
  }
}

bool SlabJob::make(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, bool is_last) {
  try {
    // Which rows are held is known once the workers have met; until then an estimate chooses.
    if (!is_last && compute.peers != nullptr) JobPlan(tensor, compute, needs).plan_alone();
    job = std::make_unique<Job>(tensor, compute, needs);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory || is_last) throw;
  }
  return false;
}

ColumnChoices::ColumnChoices(const std::vector<std::uint64_t>& shape, std::vector<std::uint64_t> columns)
    : columns_(std::move(columns)), by_length_(columns_.size()) {
  std::iota(by_length_.begin(), by_length_.end(), std::size_t{0});
  std::ranges::stable_sort(by_length_, std::greater(), [&](std::size_t n) { return shape[n]; });
}

std::uint64_t ColumnChoices::count(std::size_t mode) const {
  std::uint64_t product = 1;
  for (std::size_t n = 0; n < columns_.size(); ++n) product *= n == mode ? 1 : columns_[n];
  return product;
}

std::uint64_t ColumnChoices::column(std::size_t mode, std::uint64_t choice, std::size_t other) const {
  for (const std::size_t n : by_length_) {
    if (n == other) break;
    if (n != mode) choice /= columns_[n];
  }
  return choice % columns_[other];
}

ColumnSlabs::ColumnSlabs(const Tensor& tensor, Job& job, ProgressMeter& meter)
    : tensor_(&TensorChunks::of(tensor)),
      sizes_(job.matrices()),
      choices_(tensor.shape(), sizes_.columns),
      meter_(&meter),
      workers_(job.make_workers(&meter)),
      rows_(*tensor_, workers_->factors(), static_cast<int>(sizes_.slab), job.has_factors_on_device()),
      matrices_(*workers_, rows_, tensor.shape(), sizes_),
      loaded_(sizes_.columns.size()) {}

void ColumnSlabs::unfold(std::size_t mode) {
  const std::uint64_t choices = choices_.count(mode);
  matrices_.begin_unfolding(choices);
  if (slab() == 0) return run_kronecker_pass(mode);
  for (std::uint64_t first = 0; first < choices; first += slab()) {
    pass(mode, first);
    matrices_.read_output(mode, first, first_columns(std::min(slab(), choices - first)));
  }
}

void ColumnSlabs::run_kronecker_pass(std::size_t mode) {
  const std::size_t order = sizes_.columns.size();
  std::vector<std::uint64_t> strides(order);  // of the product's columns
  for (std::uint64_t n = order, stride = 1; n-- > 0; stride *= n == mode ? 1 : sizes_.columns[n]) strides[n] = stride;
  for (std::size_t other = 0; other < order; ++other) {
    if (other != mode) load(other, first_columns(sizes_.columns[other]));
  }
  workers_->pass({static_cast<int>(mode), Product::kronecker});
  std::vector<std::uint64_t> places(static_cast<std::size_t>(choices_.count(mode)));  // the product's of each choice
  choices_.for_each(mode, 0, places.size(), strides,
                    [&](std::uint64_t choice, std::uint64_t place) { places[choice] = place; });
  matrices_.read_output(mode, 0, places);
}

void ColumnSlabs::pass(std::size_t mode, std::uint64_t first) {
  const std::uint64_t count = std::min(slab(), choices_.count(mode) - first);
  for (std::size_t other = 0; other < sizes_.columns.size(); ++other) {
    if (other == mode) continue;
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t choice = first; choice < first + count; ++choice) {
      chosen.push_back(choices_.column(mode, choice, other));
    }
    load(other, chosen);
  }
  workers_->pass({static_cast<int>(mode), Product::hadamard});
}

void ColumnSlabs::sample_vectors(std::uint64_t seed, Executor& executor) {
  meter_->begin({.name = "start", .nonzeros = tensor_->info().nnz * sizes_.columns.size()});
  matrices_.begin_unfolding(slab());
  for (std::size_t mode = 0; mode < sizes_.columns.size(); ++mode) {
    sample(mode, seed);
    if (!matrices_.has_finite_unfolding(mode)) {
      refuse("a sample of mode " + std::to_string(mode) +
             " is not finite: the values are too large; scale them down, or use " + option_name("precision", "f64"));
    }
    matrices_.set_leading_left_vectors(mode, executor, [this] { return meter_->poll(); });
  }
  meter_->report_end();
}

void ColumnSlabs::sample(std::size_t mode, std::uint64_t seed) {
  std::vector<double> block;
  for (std::size_t other = 0; other < sizes_.columns.size(); ++other) {
    if (other == mode) continue;
    set_changed(other);
    for_each_row_block(length(other), slab(), [&](std::uint64_t first, std::size_t count) {
      block.resize(count);
      meter_->advance(0, 0);
      fill_initial_rows(seed, static_cast<int>(other), first, static_cast<int>(slab()), block, Start::normal);
      rows_.load(static_cast<int>(other), first, block);
      return true;
    });
  }
  workers_->pass({static_cast<int>(mode), Product::hadamard});
  matrices_.read_output(mode, 0, first_columns(slab()));
}

// Zeros beyond the chosen columns.
void ColumnSlabs::load(std::size_t mode, const std::vector<std::uint64_t>& chosen) {
  if (loaded_[mode] == chosen) return;
  matrices_.load_factor(mode, chosen);
  loaded_[mode] = chosen;
}

}  // namespace blco
