// L-BFGS-B: the iterates of its authors' library, known minima, bounds, threads, and every way to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string_view>

#include "engine/common/thread_pool.hpp"
#include "engine/fit/methods/lbfgs_b.hpp"

#ifdef BLCO_HAS_LBFGSB
// The library's only entry, as gfortran compiles it: the lengths of the two texts come last.
extern "C" void setulb_(const int* n, const int* m, double* x, const double* lower, const double* upper, const int* nbd,
                        double* value, double* gradient, const double* factr, const double* pgtol, double* work,
                        int* indices, char* task, const int* print, char* task_state, int* logical_state,
                        int* integer_state, double* double_state, std::size_t, std::size_t);
#endif

namespace blco {
namespace {

// sum (i + 1) (x_i - c_i)^2 with c = -1, 0, 1, 2, -1, ...
double target(std::size_t i) { return static_cast<double>(i % 4) - 1; }

SerialExecutor serial;

double paraboloid(std::span<const double> x, std::span<double> gradient) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scale = static_cast<double>(i + 1);
    const double off = x[i] - target(i);
    sum += scale * off * off;
    gradient[i] = 2 * scale * off;
  }
  return sum;
}

// The counts of a matrix under a model of products of factors, and least squares of the same: neither is convex.
class Factors {
 public:
  Factors(std::size_t rows, std::size_t columns, bool is_poisson)
      : rows_(rows), columns_(columns), is_poisson_(is_poisson), counts_(rows * columns) {
    std::mt19937_64 random(5);
    for (double& count : counts_) count = static_cast<double>(random() % 2 == 0 ? random() % 9 : 0);
  }
  std::size_t size() const { return (rows_ + columns_) * rank; }

  double operator()(std::span<const double> x, std::span<double> gradient) const {
    std::ranges::fill(gradient, 0.0);
    double sum = 0;
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t j = 0; j < columns_; ++j) {
        const std::size_t a = i * rank;
        const std::size_t b = (rows_ + j) * rank;
        double model = 0;
        for (std::size_t r = 0; r < rank; ++r) model += x[a + r] * x[b + r];
        const double count = counts_[i * columns_ + j];
        sum += is_poisson_ ? model - count * std::log(model + 1e-10) : (model - count) * (model - count);
        const double weight = is_poisson_ ? 1 - count / (model + 1e-10) : 2 * (model - count);
        for (std::size_t r = 0; r < rank; ++r) {
          gradient[a + r] += weight * x[b + r];
          gradient[b + r] += weight * x[a + r];
        }
      }
    }
    return sum;
  }

 private:
  static constexpr std::size_t rank = 3;
  std::size_t rows_;
  std::size_t columns_;
  bool is_poisson_;
  std::vector<double> counts_;
};

std::vector<double> start_of(std::size_t size) {
  std::vector<double> x(size);
  std::mt19937_64 random(11);
  for (double& number : x) number = std::uniform_real_distribution<double>(0.1, 1)(random);
  x[1] = -0.1;  // which a bound moves
  return x;
}

#ifdef BLCO_HAS_LBFGSB
// All numbers at which the library evaluates the function; those from `first_free` on have no bounds.
std::vector<std::vector<double>> evaluated_by_library(const LbfgsB::Function& function, std::size_t size,
                                                      std::size_t first_free, std::size_t evaluations) {
  const int n = static_cast<int>(size);
  constexpr int m = 10;
  constexpr double never = 0;
  constexpr int print_nothing = -1;
  std::vector<double> x = start_of(size);
  std::vector<double> gradient(size);
  const std::vector<double> lower(size);
  std::vector<int> bounds(size);
  std::fill_n(bounds.begin(), first_free, 1);
  std::vector<double> work((2 * m + 5) * size + 11 * m * m + 8 * m);
  std::vector<int> indices(3 * size);
  std::array<char, 60> task;
  task.fill(' ');
  std::ranges::copy(std::string_view("START"), task.begin());
  std::array<char, 60> task_state{};
  std::array<int, 4> logical_state{};
  std::array<int, 44> integer_state{};
  std::array<double, 29> double_state{};
  double value = 0;
  std::vector<std::vector<double>> all;
  for (;;) {
    setulb_(&n, &m, x.data(), lower.data(), lower.data(), bounds.data(), &value, gradient.data(), &never, &never,
            work.data(), indices.data(), task.data(), &print_nothing, task_state.data(), logical_state.data(),
            integer_state.data(), double_state.data(), task.size(), task_state.size());
    const std::string_view wants(task.data(), task.size());
    if (wants.starts_with("NEW_X")) continue;
    if (!wants.starts_with("FG") || all.size() == evaluations) return all;
    all.push_back(x);
    value = function(x, gradient);
  }
}

// After more evaluations the smallest rounding error leads elsewhere.
TEST(LbfgsB, EvaluatesWhereTheLibraryDoes) {
  constexpr std::size_t evaluations = 22;
  for (const bool is_poisson : {false, true}) {
    // Sizes around a tile, and several ranges of tiles.
    for (const auto& [rows, columns] : {std::pair<std::size_t, std::size_t>{9, 7}, {50, 35}, {20, 2800}}) {
      const Factors function(rows, columns, is_poisson);
      const std::size_t size = function.size();
      for (const std::size_t bounded :
           is_poisson ? std::vector<std::size_t>{size} : std::vector{std::size_t{0}, size / 2, size}) {
        SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", bounded " << bounded << ", poisson "
                                        << is_poisson);
        const auto expected = evaluated_by_library(function, size, bounded, evaluations);
        ThreadPool threads(3);
        LbfgsB minimizer(size, threads);
        minimizer.bound(0, bounded);
        std::ranges::copy(start_of(size), minimizer.x().begin());
        std::vector<double> differences;
        std::size_t held = 0;

        minimizer.minimize(
            [&](std::span<const double> x, std::span<double> gradient) {
              const std::vector<double>& there = expected.at(differences.size());
              double difference = 0;
              double largest = 0;
              for (std::size_t i = 0; i < size; ++i) {
                difference = std::max(difference, std::abs(x[i] - there[i]));
                largest = std::max(largest, std::abs(there[i]));
                held += i < bounded && x[i] == 0 ? 1 : 0;
              }
              differences.push_back(difference / largest);
              return function(x, gradient);
            },
            evaluations, {});

        EXPECT_EQ(differences.size(), expected.size());
        EXPECT_THAT(differences, testing::Each(testing::Lt(1e-9)));
        EXPECT_EQ(held > 0, bounded > 0);
      }
    }
  }
}
#else
TEST(LbfgsB, EvaluatesWhereTheLibraryDoes) { GTEST_SKIP() << "liblbfgsb was not found when this was built"; }
#endif

TEST(LbfgsB, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Factors function(20, 2800, true);
  std::vector<std::vector<double>> found;
  for (const int width : {1, 3}) {
    ThreadPool threads(width);
    LbfgsB minimizer(function.size(), threads);
    minimizer.bound(0, function.size());
    std::ranges::copy(start_of(function.size()), minimizer.x().begin());

    minimizer.minimize(function, 15, {});

    found.emplace_back(minimizer.x().begin(), minimizer.x().end());
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(LbfgsB, FindsTheMinimumWithAndWithoutBounds) {
  for (const bool nonnegative : {false, true}) {
    LbfgsB minimizer(50, serial);
    if (nonnegative) minimizer.bound(0, 50);
    std::ranges::fill(minimizer.x(), 0.5);

    const LbfgsB::Result result = minimizer.minimize(paraboloid, 200, {});

    double expected = 0;
    for (std::size_t i = 0; i < 50; ++i) {
      const double best = nonnegative ? std::max(0.0, target(i)) : target(i);
      expected += static_cast<double>(i + 1) * (best - target(i)) * (best - target(i));
      EXPECT_NEAR(minimizer.x()[i], best, 1e-6) << i;
    }
    EXPECT_NEAR(result.value, expected, 1e-9);
    EXPECT_GT(result.first_value, result.value);
  }
}

TEST(LbfgsB, EndsAfterTheEvaluationsThatItMayTakeWithTheBestOfThem) {
  for (const int limit : {1, 2, 5}) {
    LbfgsB minimizer(50, serial);
    int calls = 0;
    double least = std::numeric_limits<double>::infinity();

    const LbfgsB::Result result = minimizer.minimize(
        [&](std::span<const double> x, std::span<double> gradient) {
          ++calls;
          const double value = paraboloid(x, gradient);
          least = std::min(least, value);
          return value;
        },
        limit, {});

    EXPECT_EQ(calls, limit);
    EXPECT_EQ(result.evaluations, limit);
    EXPECT_EQ(result.value, least);
    std::vector<double> gradient(50);
    EXPECT_EQ(paraboloid(minimizer.x(), gradient), least);
  }
}

TEST(LbfgsB, EndsWhenToldAndAtAValueThatIsNotFinite) {
  LbfgsB minimizer(50, serial);
  EXPECT_EQ(minimizer.minimize(paraboloid, 100, [] { return true; }).evaluations, 1);
  int calls = 0;
  const auto breaks = [&](std::span<const double> x, std::span<double> gradient) {
    return ++calls == 4 ? std::numeric_limits<double>::quiet_NaN() : paraboloid(x, gradient);
  };

  const LbfgsB::Result result = minimizer.minimize(breaks, 100, {});

  EXPECT_EQ(result.evaluations, 4);
  EXPECT_TRUE(std::isfinite(result.value));
  EXPECT_FALSE(result.is_best_last);
}

TEST(LbfgsB, TellsWhatItWouldTakeWithoutTakingIt) {
  constexpr std::uint64_t count = std::uint64_t{1} << 44;
  constexpr std::uint64_t of_number = (6 + 20) * 8 + 16 + 2;  // vectors and 10 pairs; breakpoints; two flags

  EXPECT_NEAR(static_cast<double>(bytes_of<LbfgsB>(count, serial) - count * of_number), 0, 64 << 20);
}

TEST(LbfgsB, LetsErrorsOfTheFunctionThrough) {
  LbfgsB minimizer(3, serial);
  const auto fails = [](std::span<const double>, std::span<double>) -> double { throw std::runtime_error("no"); };

  EXPECT_THROW(minimizer.minimize(fails, 100, {}), std::runtime_error);
}

TEST(LbfgsB, KeepsNothingBetweenCalls) {
  LbfgsB first(50, serial);
  LbfgsB second(50, serial);
  first.bound(0, 50);
  second.bound(0, 50);
  first.minimize(paraboloid, 7, {});
  std::ranges::copy(first.x(), second.x().begin());

  const double of_first = first.minimize(paraboloid, 7, {}).value;

  EXPECT_EQ(second.minimize(paraboloid, 7, {}).value, of_first);
  EXPECT_THAT(second.x(), testing::ElementsAreArray(first.x()));
}

}  // namespace
}  // namespace blco
