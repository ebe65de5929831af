// L-BFGS-B: the iterates of its authors' library, known minima, bounds, threads, numbers in several places, and every
// way to end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <stdexcept>
#include <string_view>

#include "engine/common/thread_pool.hpp"
#include "engine/fit/methods/lbfgs_b.hpp"
#include "engine/work/rows/own_numbers.hpp"

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

// Returns the value at x, and fills in the gradient.
using Function = std::function<double(std::span<const double> x, std::span<double> gradient)>;
using Ranges = std::vector<LbfgsNumbers::Range>;

// L-BFGS-B of numbers of which the first `bounded` have bounds, in so many places as `parts` say.
class Minimizer {
 public:
  Minimizer(std::size_t size, Executor& executor, std::size_t bounded) : Minimizer({{{0, size}}}, executor, bounded) {}
  Minimizer(const std::vector<Ranges>& parts, Executor& executor, std::size_t bounded)
      : parts_(parts), size_(size_of(parts)), control_(size_, bounded > 0, take(), executor) {
    for (const Ranges& ranges : parts) {
      LbfgsNumbers& numbers = numbers_.emplace_back(ranges, executor);
      for_each([&](LbfgsNumbers& of, std::size_t at, std::size_t number) {
        if (&of == &numbers && number < bounded) numbers.bound(at, 1);
      });
    }
  }
  Minimizer(const Minimizer&) = delete;
  Minimizer& operator=(const Minimizer&) = delete;

  void start_at(std::span<const double> x) {
    for_each([&](LbfgsNumbers& of, std::size_t at, std::size_t i) { of.point(control_.places().x)[at] = x[i]; });
  }
  std::vector<double> x() {
    std::vector<double> x(size_);
    for_each([&](LbfgsNumbers& of, std::size_t at, std::size_t i) { x[i] = of.point(control_.places().x)[at]; });
    return x;
  }
  LbfgsB::Result minimize(const Function& function, int max_evaluations, const StopPoll& stop) {
    const auto evaluate = [&] {
      std::vector<double> gradient(size_);
      const double value = function(x(), gradient);
      for_each([&](LbfgsNumbers& of, std::size_t at, std::size_t i) {
        of.gradient(control_.places().gradient)[at] = gradient[i];
      });
      return value;
    };
    return control_.minimize(evaluate, max_evaluations, stop);
  }
  std::size_t breakpoints() const { return breakpoints_; }

 private:
  static std::size_t size_of(const std::vector<Ranges>& parts) {
    std::size_t size = 0;
    for (const Ranges& ranges : parts) {
      for (const LbfgsNumbers::Range& range : ranges) size += range.count;
    }
    return size;
  }
  LbfgsB::Take take() {
    return [this](const LbfgsStep& step) {
      std::vector<double> answer;
      for (LbfgsNumbers& of : numbers_) {
        const std::vector<double> numbers = of.take(step);
        if (const std::optional<Combining> combining = combining_of({.step = step})) {
          EXPECT_TRUE(combine(*combining, answer, numbers));
        }
      }
      if (step.kind == LbfgsStepKind::next_breakpoints) breakpoints_ += answer.size() / numbers_of_breakpoint;
      return answer;
    };
  }
  // Calls visit(numbers, place among these, number of all).
  template <class Visit>
  void for_each(const Visit& visit) {
    for (std::size_t part = 0; part < numbers_.size(); ++part) {
      std::size_t at = 0;
      for (const LbfgsNumbers::Range& range : parts_[part]) {
        for (std::size_t i = 0; i < range.count; ++i) visit(numbers_[part], at++, range.first + i);
      }
    }
  }

  std::vector<Ranges> parts_;
  std::size_t size_;
  std::deque<LbfgsNumbers> numbers_;  // which do not move
  LbfgsB control_;
  std::size_t breakpoints_ = 0;  // that were asked for
};

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
std::vector<std::vector<double>> evaluated_by_library(const Function& function, std::size_t size,
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
        Minimizer minimizer(size, threads, bounded);
        minimizer.start_at(start_of(size));
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

// Each of a chain of numbers is drawn to its neighbours, and to a target that is below 0 for more than half of them.
double chain(std::span<const double> x, std::span<double> gradient) {
  std::ranges::fill(gradient, 0.0);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scale = 1 + static_cast<double>(i % 7) / 2;
    const double off = x[i] - (static_cast<double>(i % 5) - 2.5);
    sum += scale * off * off;
    gradient[i] += 2 * scale * off;
    if (i == 0) continue;
    const double step = x[i] - x[i - 1];
    sum += step * step / 10;
    gradient[i] += step / 5;
    gradient[i - 1] -= step / 5;
  }
  return sum;
}

// Of two modes each of three places has a part; a fourth one has nothing.
std::vector<Ranges> in_several_places(std::size_t size) {
  return {{{0, 10}, {60, 1000}}, {{10, 0}, {1060, 3}}, {}, {{10, 50}, {1063, size - 1063}}};
}

// From equal numbers a chain has hundreds of breakpoints at one place.
TEST(LbfgsB, EvaluatesAtTheSameNumbersWhereverTheyLie) {
  struct Case {
    Function function;
    std::vector<double> start;
    std::size_t bounded;
    std::size_t least_breakpoints = 0;
  };
  const Factors counts(20, 2800, true);
  for (const Case& test : {Case{chain, start_of(20'000), 0},
                           {chain, start_of(20'000), 9000, 4000},
                           {chain, start_of(20'000), 20'000, 8000},
                           {chain, std::vector<double>(40'000, 0.5), 40'000, 16'000},
                           {counts, start_of(counts.size()), counts.size(), 1}}) {
    const std::size_t size = test.start.size();
    SCOPED_TRACE(testing::Message() << size << " numbers, " << test.bounded << " bounded");
    const auto evaluated = [&](const std::vector<Ranges>& parts) {
      std::vector<std::vector<double>> all;
      ThreadPool threads(2);
      Minimizer minimizer(parts, threads, test.bounded);
      minimizer.start_at(test.start);
      const auto keep = [&](std::span<const double> x, std::span<double> gradient) {
        all.emplace_back(x.begin(), x.end());
        return test.function(x, gradient);
      };
      minimizer.minimize(keep, 15, {});
      all.push_back(minimizer.x());
      EXPECT_GE(minimizer.breakpoints(), test.least_breakpoints);
      return all;
    };

    const auto in_one = evaluated({{{0, size}}});
    const auto in_several = evaluated(in_several_places(size));

    ASSERT_EQ(in_several.size(), in_one.size());
    EXPECT_GT(in_one.size(), 6);
    for (std::size_t k = 0; k < in_one.size(); ++k) {
      const double largest = std::ranges::max(in_one[k]);
      for (std::size_t i = 0; i < size; ++i) ASSERT_NEAR(in_several[k][i], in_one[k][i], 1e-10 * largest) << k;
    }
  }
}

TEST(LbfgsB, GivesTheSameBitsOnAnyNumberOfThreads) {
  const Factors function(20, 2800, true);
  std::vector<std::vector<double>> found;
  for (const int width : {1, 3}) {
    ThreadPool threads(width);
    Minimizer minimizer(function.size(), threads, function.size());
    minimizer.start_at(start_of(function.size()));

    minimizer.minimize(function, 15, {});

    found.push_back(minimizer.x());
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(LbfgsB, FindsTheMinimumWithAndWithoutBounds) {
  for (const bool nonnegative : {false, true}) {
    Minimizer minimizer(50, serial, nonnegative ? 50 : 0);
    minimizer.start_at(std::vector<double>(50, 0.5));

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
    Minimizer minimizer(50, serial, 0);
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
  Minimizer minimizer(50, serial, 0);
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

  EXPECT_NEAR(static_cast<double>(bytes_of<LbfgsNumbers>(Ranges{{0, count}}, serial) - count * of_number), 0, 64 << 20);
  EXPECT_LT(bytes_of<LbfgsB>(count, true, LbfgsB::Take(), serial), 1 << 20);
}

TEST(LbfgsB, LetsErrorsOfTheFunctionThrough) {
  Minimizer minimizer(3, serial, 0);
  const auto fails = [](std::span<const double>, std::span<double>) -> double { throw std::runtime_error("no"); };

  EXPECT_THROW(minimizer.minimize(fails, 100, {}), std::runtime_error);
}

TEST(LbfgsB, KeepsNothingBetweenCalls) {
  Minimizer first(50, serial, 50);
  Minimizer second(50, serial, 50);
  first.minimize(paraboloid, 7, {});
  second.start_at(first.x());

  const double of_first = first.minimize(paraboloid, 7, {}).value;

  EXPECT_EQ(second.minimize(paraboloid, 7, {}).value, of_first);
  EXPECT_THAT(second.x(), testing::ElementsAreArray(first.x()));
}

}  // namespace
}  // namespace blco
