// The Kronecker product of rows (TTMc) of the reference backend against a loop over the cells of the core's unfolding;
// other backends refuse it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "blco/error.hpp"
#include "kernels/reference/reference_backend.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

// The TTMc of a mode by its definition: for each column, one number of each other mode, the last mode's fastest.
std::vector<double> coordinate_ttmc(const CooTensor& tensor, const std::vector<std::vector<double>>& factors,
                                    const std::vector<int>& columns, std::size_t target) {
  std::size_t width = 1;
  for (std::size_t n = 0; n < columns.size(); ++n) width *= n == target ? 1 : static_cast<std::size_t>(columns[n]);
  std::vector<double> output(static_cast<std::size_t>(tensor.shape[target]) * width);
  for (std::size_t i = 0; i < tensor.nnz(); ++i) {
    std::vector<double> products{tensor.values[i]};
    for (std::size_t n = 0; n < columns.size(); ++n) {
      if (n == target) continue;
      std::vector<double> longer;
      for (const double product : products) {
        for (std::size_t r = 0; r < static_cast<std::size_t>(columns[n]); ++r) {
          longer.push_back(product * factors[n][tensor.coordinate(i, n) * static_cast<std::size_t>(columns[n]) + r]);
        }
      }
      products = std::move(longer);
    }
    for (std::size_t c = 0; c < width; ++c) output[tensor.coordinate(i, target) * width + c] += products[c];
  }
  return output;
}

TEST(Kronecker, OfOrders2To5IsTheReferences) {
  const std::vector<std::uint64_t> lengths{9, 7, 12, 5, 3};
  const std::vector<int> ranks{2, 3, 4, 1, 2};

  for (std::size_t order = 2; order <= lengths.size(); ++order) {
    const std::vector<std::uint64_t> shape(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(order));
    const std::vector<int> columns(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(order));
    const CooTensor tensor = random_tensor({.shape = shape, .nnz = 300, .seed = order});
    const auto backend = make_reference_backend({.layout = TensorLayout(shape), .columns = columns});
    std::vector<std::vector<double>> factors;
    for (std::size_t n = 0; n < order; ++n) {
      factors.push_back(random_factors(shape, columns[n], 3 + n)[n]);
      backend->load_factor(static_cast<int>(n), 0, factors[n]);
    }
    for (std::size_t mode = 0; mode < order; ++mode) {
      backend->begin_pass({static_cast<int>(mode), Product::kronecker});
      for (const EncodedChunk& chunk : encode(tensor, 100)) backend->submit(0, chunk.view());
      backend->finish_pass();
      const std::vector<double> expected = coordinate_ttmc(tensor, factors, columns, mode);
      std::vector<double> actual(expected.size());
      backend->read_output(static_cast<int>(mode), 0, actual);
      EXPECT_THAT(actual, ::testing::Pointwise(::testing::DoubleNear(1e-12), expected)) << order << ", mode " << mode;
    }
  }
}

TEST(Kronecker, IsRefusedByTheHost) {
  ThreadExecutor executor(1);
  BackendConfig config{.layout = TensorLayout(std::vector<std::uint64_t>{3, 4, 5}), .rank = 2};
  const auto backend = make_host_backend(config, executor);
  config.columns = {2, 3, 2};

  EXPECT_THROW(backend->begin_pass({0, Product::kronecker}), Error);
  EXPECT_THROW(make_host_backend(config, executor), Error);
}

}  // namespace
}  // namespace blco::testing
