#include "engine/fit/column_slabs.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/fit/initial_factors.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/device_list.hpp"
#include "kernels/part_ranges.hpp"
#include "kernels/tall_matrices.hpp"

namespace blco {
namespace {

// Columns of one pass: beyond, an MTTKRP takes no less time per column.
constexpr std::uint64_t max_slab = 64;

constexpr std::uint64_t block_numbers = std::uint64_t{1} << 13;

}  // namespace

JobNeeds slab_needs(const Tensor& tensor, int columns, Precision precision, const Account& caller,
                    const StopPoll& stop) {
  JobNeeds needs = needs_of(tensor, columns, precision);
  needs.caller.take(caller);
  needs.caller.take("blocks of rows", 2 * block_numbers * sizeof(double));
  needs.passes_by_mode = true;
  needs.any_rows = true;  // matrices and unfoldings are whole at rank 0 anyway
  needs.backend.stop = stop;
  return needs;
}

SlabJob::SlabJob(const Tensor& tensor, const Compute& compute, std::uint64_t choices, std::uint64_t group,
                 const std::function<Account(std::uint64_t slab)>& caller, const StopPoll& stop, bool is_fixed,
                 const std::vector<int>& columns, const std::string& lower, double share_of_rank_1) {
  const auto needs_with = [&](int rank, const Account& of_caller) {
    JobNeeds needs = slab_needs(tensor, rank, compute.precision, of_caller, stop);
    needs.lower_rank = lower;
    needs.share_of_rank_1 = share_of_rank_1;
    return needs;
  };
  if (columns.size() > 2 && has_one_device(compute)) {
    Account of_caller = caller(0);
    of_caller.take_by_rank("the unfolding", 2 * choices * sizeof(double));
    JobNeeds products = needs_with(std::ranges::max(columns), of_caller);
    products.backend.columns = columns;
    if (make(tensor, compute, products)) return;
  }
  for (slab = std::min(choices, max_slab);; slab /= 2) {
    if (slab > group) slab = slab / group * group;
    const bool is_last = slab == 1 || is_fixed;
    if (make(tensor, compute, needs_with(static_cast<int>(slab), caller(slab)), is_last)) return;
  }
}

bool SlabJob::make(const Tensor& tensor, const Compute& compute, const JobNeeds& needs, bool is_last) {
  try {
    job = std::make_unique<Job>(tensor, compute, needs);
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::out_of_memory || is_last) throw;
  }
  return false;
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

ColumnSlabs::ColumnSlabs(const Tensor& tensor, const Matrices& matrices, const std::vector<int>& columns, Job& job,
                         std::uint64_t slab, ProgressMeter& meter)
    : tensor_(&TensorChunks::of(tensor)),
      matrices_(&matrices),
      columns_(columns.begin(), columns.end()),
      choices_(tensor.shape(), columns),
      slab_(slab),
      meter_(&meter),
      workers_(job.make_workers(&meter)),
      is_on_device_(job.has_factors_on_device()),
      rows_(*tensor_, workers_->factors(), static_cast<int>(slab), is_on_device_),
      loaded_(columns.size()) {}

std::vector<double> ColumnSlabs::unfold(std::size_t mode) {
  if (slab_ == 0) return kronecker(mode);
  const std::uint64_t choices = choices_.count(mode);
  std::vector<double> unfolding(static_cast<std::size_t>(length(mode) * choices));
  for (std::uint64_t first = 0; first < choices; first += slab_) {
    const std::span<const double> output = pass(mode, first);
    const std::uint64_t count = std::min(slab_, choices - first);
    for (std::uint64_t i = 0; i < length(mode); ++i) {
      std::copy_n(output.begin() + static_cast<std::ptrdiff_t>(i * slab_), count,
                  unfolding.begin() + static_cast<std::ptrdiff_t>(i * choices + first));
    }
  }
  return unfolding;
}

std::vector<double> ColumnSlabs::kronecker(std::size_t mode) {
  for (std::size_t other = 0; other < columns_.size(); ++other) {
    if (other == mode || !loaded_[other].empty()) continue;
    OriginalRows(*tensor_, workers_->factors(), static_cast<int>(columns_[other]), is_on_device_)
        .load(static_cast<int>(other), 0, (*matrices_)[other]);
    loaded_[other] = {0};
  }
  run_pass(mode, Product::kronecker);
  const std::uint64_t choices = choices_.count(mode);
  std::vector<std::uint64_t> strides(columns_.size());  // of the product's columns
  for (std::uint64_t n = columns_.size(), stride = 1; n-- > 0; stride *= n == mode ? 1 : columns_[n]) strides[n] = stride;
  std::vector<std::uint64_t> places(static_cast<std::size_t>(choices));  // the product's column of each choice
  choices_.for_each(mode, 0, choices, strides,
                    [&](std::uint64_t choice, std::uint64_t place) { places[choice] = place; });
  std::vector<double> unfolding(static_cast<std::size_t>(length(mode) * choices));
  std::vector<double> block;
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / choices);
  for (std::uint64_t row = 0; row < length(mode); row += block_rows) {
    block.resize(static_cast<std::size_t>(std::min(block_rows, length(mode) - row) * choices));
    meter_->advance(0, 0);
    workers_->factors().read_output(static_cast<int>(mode), row, block);
    double* const to = unfolding.data() + row * choices;
    for (std::size_t start = 0; start < block.size(); start += choices) {
      for (std::uint64_t choice = 0; choice < choices; ++choice) to[start + choice] = block[start + places[choice]];
    }
  }
  OriginalRows(*tensor_, workers_->factors(), static_cast<int>(choices), is_on_device_)
      .reorder(static_cast<int>(mode), unfolding);
  return unfolding;
}

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

ColumnSlabs::Matrices ColumnSlabs::sample_vectors(std::uint64_t seed, Executor& executor) {
  meter_->begin({.name = "start", .nonzeros = tensor_->info().nnz * columns_.size()});
  Matrices vectors;
  for (std::size_t mode = 0; mode < columns_.size(); ++mode) {
    const std::span<const double> numbers = sample(mode, seed);
    if (!std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); })) {
      refuse("a sample of mode " + std::to_string(mode) +
             " is not finite: the values are too large; scale them down, or use " + option_name("precision", "f64"));
    }
    const auto count = static_cast<int>(std::min(columns_[mode], length(mode)));
    vectors.push_back(leading_left_vectors(numbers, static_cast<int>(slab_), count, executor,
                                           [this] { return meter_->poll(); }));
  }
  meter_->report_end();
  return vectors;
}

std::span<const double> ColumnSlabs::sample(std::size_t mode, std::uint64_t seed) {
  std::vector<double> block;
  for (std::size_t other = 0; other < columns_.size(); ++other) {
    if (other == mode) continue;
    set_changed(other);
    const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / slab_);
    for (std::uint64_t row = 0; row < length(other); row += block_rows) {
      block.resize(static_cast<std::size_t>(std::min(block_rows, length(other) - row) * slab_));
      meter_->advance(0, 0);
      fill_initial_rows(seed, static_cast<int>(other), row, static_cast<int>(slab_), block, Start::normal);
      rows_.load(static_cast<int>(other), row, block);
    }
  }
  return output_of_pass(mode);
}

void ColumnSlabs::run_pass(std::size_t mode, Product product) { workers_->pass({static_cast<int>(mode), product}); }

std::span<const double> ColumnSlabs::output_of_pass(std::size_t mode) {
  run_pass(mode, Product::hadamard);
  output_.resize(static_cast<std::size_t>(length(mode) * slab_));
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / slab_);
  for (std::uint64_t row = 0; row < length(mode); row += block_rows) {
    meter_->advance(0, 0);
    const std::uint64_t rows = std::min(block_rows, length(mode) - row);
    workers_->factors().read_output(static_cast<int>(mode), row,
                                    std::span(output_).subspan(row * slab_, rows * slab_));
  }
  rows_.reorder(static_cast<int>(mode), output_);
  return output_;
}

void multiply_transposed(const std::vector<double>& matrix, std::uint64_t columns, std::span<const double> output,
                         std::vector<double>& product, Executor& executor, const StopPoll& stop) {
  const std::uint64_t rows = matrix.size() / columns;
  const std::uint64_t width = output.size() / rows;
  product.assign(static_cast<std::size_t>(columns * width), 0.0);
  run_shares(executor, width, [&](std::uint64_t begin, std::uint64_t end) {
    std::uint64_t numbers = 0;  // since the last poll
    for (std::uint64_t i = 0; i < rows; ++i) {
      numbers += columns * (end - begin);
      if (numbers >= block_numbers) {
        give_up_if(stop);
        numbers = 0;
      }
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
  const std::uint64_t block_rows = std::max<std::uint64_t>(1, block_numbers / slab_);
  std::vector<double> block;
  for (std::uint64_t row = 0; row < length(mode); row += block_rows) {
    meter_->advance(0, 0);
    const std::uint64_t rows = std::min(block_rows, length(mode) - row);
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
