#include "engine/fit/methods/entry_means.hpp"

#include <cmath>
#include <memory>
#include <span>

#include "engine/tensor/nonzero_reader.hpp"

namespace blco {
namespace {

// Calls visit(frame, i) for entry i of each frame.
template <class Visit>
void for_each_entry(const ChunkSource& tensor, Executor& executor, const Visit& visit) {
  NonzeroReader reader(tensor, 1, executor);
  const auto frame = std::make_unique<NonzeroFrame>();
  while (tensor.info().nnz > 0 && reader.next(1)) {
    reader.decode(0, *frame);
    for (std::size_t i = 0; i < frame->count; ++i) visit(*frame, i);
  }
}

// The sum of the biases of an entry's indices.
double bias_of(const std::vector<std::vector<double>>& biases, const NonzeroFrame& frame, std::size_t i) {
  double sum = 0;
  for (std::size_t n = 0; n < biases.size(); ++n) sum += biases[n][frame.coordinates[n][i]];
  return sum;
}

}  // namespace

EntryMeans::EntryMeans(const ChunkSource& tensor, Executor& executor) : tensor_(tensor), executor_(executor) {
  for (const std::uint64_t length : tensor.info().shape) counts_.emplace_back(length);
  for_each_entry(tensor, executor, [&](const NonzeroFrame& frame, std::size_t i) {
    mean_ += frame.values[i];
    for (std::size_t n = 0; n < counts_.size(); ++n) ++counts_[n][frame.coordinates[n][i]];
  });
  if (tensor.info().nnz > 0) mean_ /= static_cast<double>(tensor.info().nnz);
}

std::uint64_t EntryMeans::memory_bytes(std::uint64_t rows, bool is_reordered) {
  const std::uint64_t of_row = 2 * sizeof(double) + sizeof(std::uint32_t);  // counts, biases and the lists of cold rows
  return rows * (of_row + (is_reordered ? 2 * sizeof(std::uint32_t) : 0)) + sizeof(NonzeroFrame);
}

std::vector<std::uint32_t> EntryMeans::cold_rows(std::size_t mode) const {
  const std::vector<std::uint32_t> originals = tensor_.reordering(mode);
  std::vector<std::uint32_t> rows;
  for (std::uint64_t row = 0; row < counts_[mode].size(); ++row) {
    if (counts_[mode][originals.empty() ? row : originals[row]] == 0) rows.push_back(static_cast<std::uint32_t>(row));
  }
  return rows;
}

double EntryMeans::fewest_entries(std::size_t mode) const {
  double fewest = 0;
  for (const double count : counts_[mode]) {
    if (count > 0 && (fewest == 0 || count < fewest)) fewest = count;
  }
  return fewest;
}

std::vector<std::vector<double>> EntryMeans::find_biases() const {
  constexpr double added_zeros = 5;
  std::vector<std::vector<double>> biases;
  for (const std::vector<double>& counts : counts_) {
    std::vector<double> sums(counts.size());
    for_each_entry(tensor_, executor_, [&](const NonzeroFrame& frame, std::size_t i) {
      sums[frame.coordinates[biases.size()][i]] += frame.values[i] - mean_ - bias_of(biases, frame, i);
    });
    for (std::size_t row = 0; row < sums.size(); ++row) sums[row] /= counts[row] + added_zeros;
    biases.push_back(std::move(sums));
  }
  return biases;
}

HeldOutReport EntryMeans::compare(const ChunkSource& held_out) const {
  const std::vector<std::vector<double>> biases = find_biases();
  HeldOutReport report{.entries = held_out.info().nnz};
  if (report.entries == 0) return report;
  for_each_entry(held_out, executor_, [&](const NonzeroFrame& frame, std::size_t i) {
    bool is_cold = false;
    for (std::size_t n = 0; n < counts_.size(); ++n) is_cold |= counts_[n][frame.coordinates[n][i]] == 0;
    report.cold_entries += is_cold ? 1 : 0;
    const double residual = frame.values[i] - mean_;
    report.mean_error += residual * residual;
    report.mode_means_error += std::pow(residual - bias_of(biases, frame, i), 2);
  });
  report.mean_error = std::sqrt(report.mean_error / static_cast<double>(report.entries));
  report.mode_means_error = std::sqrt(report.mode_means_error / static_cast<double>(report.entries));
  return report;
}

}  // namespace blco
