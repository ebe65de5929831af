// Steps over factors against plain loops, with a factor of more than one block of rows.
#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "engine/fit/methods/factor_steps.hpp"
#include "tests/kernels/reference_backend.hpp"

namespace blco {
namespace {

constexpr std::size_t rank = 3;

class FactorSteps : public testing::Test {
 protected:
  FactorSteps() {
    std::mt19937_64 random(5);
    std::size_t numbers = 0;
    for (const std::uint64_t length : shape_) numbers += length * rank;
    for (std::size_t i = 0; i < numbers; ++i) numbers_.push_back(static_cast<double>(random() % 1000) / 8);
    load_all_factors(*backend_, shape_, numbers_);
  }

  double number(std::size_t mode, std::size_t row, std::size_t column) const {
    const std::size_t first = std::accumulate(shape_.begin(), shape_.begin() + static_cast<std::ptrdiff_t>(mode), 0UL);
    return numbers_[(first + row) * rank + column];
  }

  std::vector<std::uint64_t> shape_{50'000, 7, 4};
  std::unique_ptr<Backend> backend_ =
      make_reference_backend({.layout = TensorLayout(shape_), .rank = static_cast<int>(rank)});
  std::vector<double> numbers_;
};

TEST_F(FactorSteps, LoadsAndStoresAllFactors) {
  std::vector<double> stored(numbers_.size());
  std::vector<double> second(shape_[1] * rank);

  store_all_factors(*backend_, shape_, stored);
  backend_->store_factor(1, 0, second);

  EXPECT_EQ(stored, numbers_);
  for (std::size_t i = 0; i < second.size(); ++i) EXPECT_EQ(second[i], number(1, i / rank, i % rank));
}

TEST_F(FactorSteps, MultipliesGrams) {
  for (const int left_out : {-1, 0, 2}) {
    const std::vector<double> product = product_of_grams(*backend_, 3, rank, left_out);

    for (std::size_t at = 0; at < rank * rank; ++at) {
      double expected = 1;
      for (std::size_t n = 0; n < 3; ++n) {
        if (static_cast<int>(n) == left_out) continue;
        double gram = 0;
        for (std::size_t row = 0; row < shape_[n]; ++row) gram += number(n, row, at / rank) * number(n, row, at % rank);
        expected *= gram;
      }
      EXPECT_NEAR(product[at], expected, 1e-12 * expected) << left_out;
    }
  }
}

}  // namespace
}  // namespace blco
