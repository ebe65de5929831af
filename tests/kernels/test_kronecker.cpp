// The Kronecker product of rows (TTMc) of every backend against a loop over the cells of the core's unfolding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "blco/error.hpp"
#include "tests/kernels/backend_cases.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

constexpr std::uint64_t ample_bytes = std::uint64_t{1} << 30;

struct Products {
  std::vector<double> sums;
  std::vector<double> magnitudes;  // sums of absolute products
};

// The TTMc of a mode by its definition: for each column, one number of each other mode, the last mode's fastest.
Products coordinate_ttmc(const CooTensor& tensor, const std::vector<std::vector<double>>& factors,
                         const std::vector<int>& columns, std::size_t target) {
  std::size_t width = 1;
  for (std::size_t n = 0; n < columns.size(); ++n) width *= n == target ? 1 : static_cast<std::size_t>(columns[n]);
  Products output{std::vector<double>(static_cast<std::size_t>(tensor.shape[target]) * width), {}};
  output.magnitudes = output.sums;
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
    for (std::size_t c = 0; c < width; ++c) {
      output.sums[tensor.coordinate(i, target) * width + c] += products[c];
      output.magnitudes[tensor.coordinate(i, target) * width + c] += std::abs(products[c]);
    }
  }
  return output;
}

struct KroneckerCase {
  std::vector<std::uint64_t> shape;
  std::vector<int> columns;
  double skew = 0;
};

// Orders 2 to 5, one column and many, numbers that fill vectors and that do not, line indices of more than 64 bits.
// Long modes have empty slices.
std::vector<KroneckerCase> kronecker_cases() {
  return {{{9, 7}, {2, 3}},
          {{40, 30, 50}, {8, 8, 8}, 3},
          {{40, 30, 50}, {16, 3, 1}},
          {{700, 30, 50}, {1, 1, 1}, 3},
          {{40, 300, 50}, {3, 1, 16}},
          {{20, 30, 9, 25}, {5, 3, 4, 20}, 2},
          {{20, 30, 9, 25}, {2, 6, 1, 2}},
          {{3, 4, 300}, {2, 3, 4}},
          {{3, 300, 2, 4}, {2, 5, 2, 3}},
          {{9, 7, 12, 5, 3}, {2, 3, 4, 1, 2}},
          {{30, 9, 20, 12, 5}, {8, 1, 3, 16, 2}, 2},
          {{8192, 8192, 8192, 8192, 8192}, {2, 4, 1, 3, 2}}};
}

class KroneckerOf : public ::testing::TestWithParam<BackendCase> {
 protected:
  void expect_near(const std::vector<double>& actual, const Products& expected, const std::string& where) const {
    ASSERT_EQ(actual.size(), expected.sums.size()) << where;
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const double error = std::abs(actual[i] - expected.sums[i]);
      if (!(error <= GetParam().tolerance() * expected.magnitudes[i])) FAIL() << where << ", number " << i;
    }
  }
};

std::vector<double> read(const Backend& backend, int mode, std::size_t size) {
  std::vector<double> rows(size);
  backend.read_output(mode, 0, rows);
  return rows;
}

TEST_P(KroneckerOf, EveryShapeAndFormIsThatOfALoop) {
  for (const KroneckerCase& of : kronecker_cases()) {
    const CooTensor tensor = random_tensor({.shape = of.shape, .nnz = 2000, .seed = 5, .skew = of.skew});
    const std::vector<EncodedChunk> chunks = encode(tensor, 700);
    std::vector<std::vector<double>> factors;
    for (std::size_t n = 0; n < of.shape.size(); ++n) {
      factors.push_back(random_factors(of.shape, of.columns[n], 3 + n)[n]);
    }
    factors = GetParam().held(std::move(factors));
    std::vector<Products> every_mode;
    for (std::size_t n = 0; n < of.shape.size(); ++n) {
      every_mode.push_back(coordinate_ttmc(tensor, factors, of.columns, n));
    }
    for (const std::uint64_t private_bytes : {std::uint64_t{0}, ample_bytes}) {
      BackendUnderTest backend(GetParam().threads, {.layout = TensorLayout(of.shape),
                                                    .rank = std::ranges::max(of.columns),
                                                    .precision = GetParam().precision,
                                                    .private_bytes = private_bytes,
                                                    .arranged_bytes = ample_bytes,
                                                    .columns = of.columns});
      backend.load(factors);
      std::vector<ResidentId> kept;
      for (const EncodedChunk& chunk : chunks) {
        kept.push_back(backend->keep(0, chunk.view(), kept.size() < 2 ? Tier::decoded : Tier::packed));
      }
      for (int mode = 0; mode < static_cast<int>(of.shape.size()); ++mode) {
        const Products& expected = every_mode[static_cast<std::size_t>(mode)];
        const std::string where = "mode " + std::to_string(mode) + " of order " + std::to_string(of.shape.size()) +
                                  ", " + std::to_string(of.columns.front()) + " columns first";
        backend->begin_pass({mode, Product::kronecker});
        for (const EncodedChunk& chunk : chunks) backend->submit(0, chunk.view());
        backend->finish_pass();
        const std::vector<double> streamed = read(*backend, mode, expected.sums.size());
        expect_near(streamed, expected, where + ", streamed");

        // Decoded chunks, arranged if the backend does that, and a packed one. Threads that share rows round otherwise.
        for (int pass = 0; pass < 2; ++pass) {
          backend->begin_pass({mode, Product::kronecker});
          for (const ResidentId chunk : kept) backend->submit_resident(chunk);
          backend->finish_pass();
          const std::vector<double> resident = read(*backend, mode, expected.sums.size());
          if (GetParam().threads <= 1 || private_bytes == 0) {
            EXPECT_EQ(resident, streamed) << where << ", resident";
          } else {
            expect_near(resident, expected, where + ", resident");
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, KroneckerOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& of) { return of.param.name(); });

// As a slab of an unfolding is made.
TEST(Kronecker, HasTheBitsOfAnMttkrpWithThoseColumns) {
  const std::vector<std::uint64_t> shape{30, 20, 40};
  const CooTensor tensor = random_tensor({.shape = shape, .nnz = 2000, .seed = 2});
  const std::vector<EncodedChunk> chunks = encode(tensor, 2000);
  const std::vector<int> columns{2, 3, 4};
  const auto factors = random_factors(shape, 4, 9);
  BackendUnderTest kronecker(2, {.layout = TensorLayout(shape), .rank = 4, .columns = columns});
  BackendUnderTest mttkrp({2, Precision::f64}, shape, 12, 0);
  for (std::size_t n = 1; n < 3; ++n) {
    const auto count = static_cast<std::size_t>(columns[n]);
    std::vector<double> own;
    std::vector<double> expanded;
    for (std::size_t i = 0; i < shape[n]; ++i) {
      for (std::size_t r = 0; r < count; ++r) own.push_back(factors[n][i * 4 + r]);
      for (std::size_t c = 0; c < 12; ++c) expanded.push_back(own[i * count + (n == 1 ? c / 4 : c % 4)]);
    }
    kronecker->load_factor(static_cast<int>(n), 0, own);
    mttkrp->load_factor(static_cast<int>(n), 0, expanded);
  }

  kronecker->begin_pass({0, Product::kronecker});
  for (const EncodedChunk& chunk : chunks) kronecker->submit(0, chunk.view());
  kronecker->finish_pass();

  EXPECT_EQ(read(*kronecker, 0, 30 * 12), mttkrp.pass(chunks, 0));
}

TEST(Kronecker, IsRefusedWithoutColumnsAndNothingElseWithThem) {
  ThreadExecutor executor(1);
  BackendConfig config{.layout = TensorLayout(std::vector<std::uint64_t>{3, 4, 5}), .rank = 3};
  const auto equal = host_kind().make(config, executor);
  config.columns = {2, 3, 2};
  const auto differing = host_kind().make(config, executor);

  EXPECT_THROW(equal->begin_pass({0, Product::kronecker}), Error);
  EXPECT_THROW(differing->begin_pass(0), Error);
  config.columns = {2, 4, 2};
  EXPECT_THROW(host_kind().make(config, executor), Error);
}

}  // namespace
}  // namespace blco::testing
