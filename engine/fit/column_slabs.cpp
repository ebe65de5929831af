#include "engine/fit/column_slabs.hpp"

#include <algorithm>
#include <numeric>

#include "blco/error.hpp"
#include "engine/fit/initial_factors.hpp"
#include "kernels/part_ranges.hpp"

namespace blco {
namespace {

// Columns of one pass: beyond, an MTTKRP takes no less time per column.
constexpr std::uint64_t max_slab = 64;

constexpr std::uint64_t block_numbers = std::uint64_t{1} << 13;

}  // namespace

SlabJob::SlabJob(const Tensor& tensor, const Compute& compute, std::uint64_t choices, std::uint64_t group,
                 const std::function<std::uint64_t(std::uint64_t slab)>& caller_bytes, const StopPoll& stop,
                 bool is_fixed) {
  for (slab = std::min(choices, max_slab);; slab /= 2) {
    if (slab > group) slab = slab / group * group;
    JobNeeds needs = needs_of(tensor, static_cast<int>(slab), compute.precision);
    needs.caller_bytes += caller_bytes(slab) + 2 * block_numbers * sizeof(double);
    needs.backend.stop = stop;
    try {
      job = std::make_unique<Job>(tensor, compute, needs);
      return;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::out_of_memory || slab == 1 || is_fixed) throw;
    }
  }
}

ColumnChoices::ColumnChoices(const std::vector<std::uint64_t>& shape, const std::vector<int>& columns)
    : columns_(columns.begin(), columns.end()), by_length_(columns.size()) {
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

ColumnSlabs::ColumnSlabs(const Tensor& tensor, const Matrices& matrices, const std::vector<int>& columns, SlabJob& job,
                         ProgressMeter& meter)
    : matrices_(&matrices),
      columns_(columns.begin(), columns.end()),
      choices_(tensor.shape(), columns),
      slab_(job.slab),
      rows_(tensor.chunks(), job.job->backend(), static_cast<int>(job.slab), job.job->device() != nullptr),
      workers_(job.job->make_workers(&meter)),
      loaded_(columns.size()) {}

std::span<const double> ColumnSlabs::pass(std::size_t mode, std::uint64_t first) {
  const std::uint64_t count = std::min(slab_, choices_.count(mode) - first);
  for (std::size_t other = 0; other < columns_.size(); ++other) {
    if (other == mode) continue;
    std::vector<std::uint64_t> chosen;
    for (std::uint64_t choice = first; choice < first + count; ++choice) {
      chosen.push_back(choices_.column(mode, choice, other));
    }
    load(other, chosen);
  }
  return output_of_pass(mode);
}

std::span<const double> ColumnSlabs::sample(std::size_t mode, std::uint64_t seed) {
  std::vector<double> block;
  for (std::size_t other = 0; other < columns_.size(); ++other) {
    if (other == mode) continue;
    set_changed(other);
    const std::uint64_t length = (*matrices_)[other].size() / columns_[other];
    const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / slab_);
    for (std::uint64_t row = 0; row < length; row += block_rows) {
      block.resize(static_cast<std::size_t>(std::min(block_rows, length - row) * slab_));
      fill_initial_rows(seed, static_cast<int>(other), row, static_cast<int>(slab_), block, Start::normal);
      rows_.load(static_cast<int>(other), row, block);
    }
  }
  return output_of_pass(mode);
}

std::span<const double> ColumnSlabs::output_of_pass(std::size_t mode) {
  workers_->pass(static_cast<int>(mode));
  output_.resize(static_cast<std::size_t>((*matrices_)[mode].size() / columns_[mode] * slab_));
  workers_->factors().read_output(static_cast<int>(mode), 0, output_);
  rows_.reorder(static_cast<int>(mode), output_);
  return output_;
}

void multiply_transposed(const std::vector<double>& matrix, std::uint64_t columns, std::span<const double> output,
                         std::vector<double>& product, Executor& executor) {
  const std::uint64_t rows = matrix.size() / columns;
  const std::uint64_t width = output.size() / rows;
  product.assign(static_cast<std::size_t>(columns * width), 0.0);
  run_shares(executor, width, [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = 0; i < rows; ++i) {
      for (std::uint64_t r = 0; r < columns; ++r) {
        const double factor = matrix[i * columns + r];
        for (std::uint64_t c = begin; c < end; ++c) product[r * width + c] += factor * output[i * width + c];
      }
    }
  });
}

// The mode's factor for the slab: a column of its matrix for each choice, zeros beyond.
void ColumnSlabs::load(std::size_t mode, const std::vector<std::uint64_t>& chosen) {
  if (loaded_[mode] == chosen) return;
  const std::vector<double>& matrix = (*matrices_)[mode];
  const std::uint64_t columns = columns_[mode];
  const std::uint64_t length = matrix.size() / columns;
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / slab_);
  std::vector<double> block;
  for (std::uint64_t row = 0; row < length; row += block_rows) {
    const std::uint64_t rows = std::min(block_rows, length - row);
    block.assign(static_cast<std::size_t>(rows * slab_), 0.0);
    for (std::uint64_t i = 0; i < rows; ++i) {
      const double* const from = matrix.data() + (row + i) * columns;
      for (std::size_t c = 0; c < chosen.size(); ++c) block[i * slab_ + c] = from[chosen[c]];
    }
    rows_.load(static_cast<int>(mode), row, block);
  }
  loaded_[mode] = chosen;
}

}  // namespace blco
