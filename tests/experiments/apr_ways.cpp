// Two published ways to compute an inner iteration of CP-APR on the CPU, in memory, to be measured beside blco-cpd:
// Laukemann et al., "Accelerating Sparse Tensor Decomposition Using Adaptive Linearized Representation",
// arXiv 2403.06348 (ALTO). Both take the nonzeros in line order, and have an output per thread.
//   stored: the products of the other modes' rows, M x R numbers, are computed once per mode, before its inner
//     iterations; ALTO's faster way where memory has room.
//   on the fly: they are computed again by each inner iteration.
//
// usage: apr_ways TENSOR RANK THREADS INNER; RANK is 8, 16 or 32. Prints JSON: seconds of each mode, the least of five.
#include <fmt/format.h>

#include <algorithm>
#include <blco/tensor_file.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/common/thread_pool.hpp"
#include "kernels/host/row_matrix.hpp"
#include "kernels/part_ranges.hpp"
#include "tests/bench/measure/natural_tensor.hpp"
#include "tests/bench/measure/stopwatch.hpp"
#include "tests/bench/rivals/private_outputs.hpp"
#include "tests/bench/rivals/sorted_lines.hpp"

namespace {

using namespace blco;

constexpr double least_rate = 1e-10;
constexpr int repeats = 5;

double relative_difference(const std::vector<double>& left, const std::vector<double>& right) {
  double difference = 0;
  double largest = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    difference = std::max(difference, std::abs(left[i] - right[i]));
    largest = std::max(largest, std::abs(left[i]));
  }
  return difference / largest;
}

// The rank is known to the compiler, so that it turns loops over a row into vectors.
template <int Rank>
class AprWays {
 public:
  AprWays(const NaturalTensor& tensor, Executor& executor)
      : executor_(executor),
        nnz_(tensor.values.size()),
        values_(nnz_),
        output_(std::ranges::max(tensor.shape), Rank),
        private_(std::ranges::max(tensor.shape), Rank, executor.width()) {
    const SortedLines lines = sort_lines(tensor.view(), executor);
    std::mt19937_64 random(1);
    std::uniform_real_distribution<double> uniform(0.1, 1.0);
    for (std::size_t mode = 0; mode < tensor.shape.size(); ++mode) {
      rows_.emplace_back(nnz_);
      for (std::uint64_t i = 0; i < nnz_; ++i)
        rows_[mode].data()[i] = tensor.coordinates[mode][lines.nonzeros.data()[i]];
      factors_.emplace_back(tensor.shape[mode] * Rank);
      for (std::size_t i = 0; i < factors_[mode].size(); ++i) factors_[mode].data()[i] = uniform(random);
    }
    for (std::uint64_t i = 0; i < nnz_; ++i) values_.data()[i] = tensor.values[lines.nonzeros.data()[i]];
  }

  std::uint64_t stored_bytes() const { return nnz_ * Rank * sizeof(double); }

  void store_products(std::size_t mode) {
    if (products_.size() == 0) products_ = AlignedBuffer<double>(nnz_ * Rank);
    run_shares(executor_, nnz_, [&](std::uint64_t begin, std::uint64_t end) {
      for (std::uint64_t i = begin; i < end; ++i) multiply_rows(mode, i, products_.data() + i * Rank);
    });
  }

  // Phi of a mode: the sum of x / max(m, least_rate) * products over the nonzeros of each row.
  void iterate_stored(std::size_t mode) {
    iterate(mode, [&](std::uint64_t i, double*) { return products_.data() + i * Rank; });
  }
  void iterate_on_the_fly(std::size_t mode) {
    iterate(mode, [&](std::uint64_t i, double* products) {
      multiply_rows(mode, i, products);
      return products;
    });
  }

  std::vector<double> phi(std::size_t mode) const { return {output_.row(0), output_.row(0) + factors_[mode].size()}; }

 private:
  void multiply_rows(std::size_t mode, std::uint64_t i, double* products) const {
    std::fill_n(products, Rank, 1.0);
    for (std::size_t n = 0; n < factors_.size(); ++n) {
      if (n == mode) continue;
      const double* row = factors_[n].data() + std::uint64_t{rows_[n].data()[i]} * Rank;
      for (int r = 0; r < Rank; ++r) products[r] *= row[r];
    }
  }

  // products_of(nonzero, room for its products) tells where they are.
  template <class Products>
  void iterate(std::size_t mode, const Products& products_of) {
    const std::uint32_t* rows = rows_[mode].data();
    const std::uint64_t numbers = factors_[mode].size();
    const auto add_part = [&](std::size_t part, std::uint64_t begin, std::uint64_t end) {
      double* phi = private_.begin_part(part, output_.row(0), numbers);
      for (std::uint64_t i = begin; i < end; ++i) {
        alignas(64) double room[Rank];
        const double* products = products_of(i, room);
        const double* row = factors_[mode].data() + std::uint64_t{rows[i]} * Rank;
        double model = 0;
        for (int r = 0; r < Rank; ++r) model += row[r] * products[r];
        const double quotient = values_.data()[i] / std::max(model, least_rate);
        double* to = phi + std::uint64_t{rows[i]} * Rank;
        for (int r = 0; r < Rank; ++r) to[r] += quotient * products[r];
      }
    };
    run_parts(executor_, private_.parts(), nnz_, add_part);
    private_.merge(output_.row(0), numbers, executor_);
  }

  Executor& executor_;
  std::uint64_t nnz_;
  std::vector<AlignedBuffer<std::uint32_t>> rows_;  // per mode
  AlignedBuffer<double> values_;
  std::vector<AlignedBuffer<double>> factors_;
  AlignedBuffer<double> products_;
  RowMatrix<double> output_;
  PrivateOutputs<double> private_;
};

template <class Work>
double least_seconds(const Work& work) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) least = std::min(least, seconds_of(work));
  return least;
}

template <int Rank>
int measure(const NaturalTensor& tensor, int inner, Executor& executor) {
  AprWays<Rank> ways(tensor, executor);
  double stored = 0;
  double on_the_fly = 0;
  for (std::size_t mode = 0; mode < tensor.shape.size(); ++mode) {
    on_the_fly += least_seconds([&] { ways.iterate_on_the_fly(mode); });
    const std::vector<double> expected = ways.phi(mode);
    stored += least_seconds([&] { ways.store_products(mode); }) / inner;
    stored += least_seconds([&] { ways.iterate_stored(mode); });
    if (const double difference = relative_difference(expected, ways.phi(mode)); !(difference < 1e-12)) {
      fmt::print(stderr, "apr_ways: mode {}: the two ways differ by {}\n", mode, difference);
      return EXIT_FAILURE;
    }
  }
  const auto order = static_cast<double>(tensor.shape.size());
  fmt::print(
      "{{\"rank\":{},\"threads\":{},\"stored_bytes\":{},\"stored_seconds\":{:.6f},\"on_the_fly_seconds\":{:.6f}}}\n",
      Rank, executor.width(), ways.stored_bytes(), stored / order, on_the_fly / order);
  return EXIT_SUCCESS;
}

int run(char** words) {
  const int rank = std::stoi(words[1]);
  ThreadPool threads(std::stoi(words[2]));
  const int inner = std::stoi(words[3]);
  const NaturalTensor tensor = read_natural(TensorFile(words[0]), threads);
  switch (rank) {
    case 8:
      return measure<8>(tensor, inner, threads);
    case 16:
      return measure<16>(tensor, inner, threads);
    case 32:
      return measure<32>(tensor, inner, threads);
    default:
      fmt::print(stderr, "apr_ways: RANK must be 8, 16 or 32\n");
      return EXIT_FAILURE;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    fmt::print(stderr, "usage: apr_ways TENSOR RANK THREADS INNER\n");
    return EXIT_FAILURE;
  }
  try {
    return run(words + 1);
  } catch (const std::exception& error) {
    fmt::print(stderr, "apr_ways: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
