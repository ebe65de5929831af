// Completion against dense solves of each row's normal equations, and against conjugate gradients on these.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "tests/engine/fit/methods/completion_case.hpp"
#include "tests/engine/within_budget.hpp"

namespace blco {
namespace {

using DenseMatrix = std::vector<std::vector<double>>;

// Per row, its matrix of normal equations and its right-hand side, from the entries one by one.
class DenseCompletion {
 public:
  DenseCompletion(const CoordinateTensor& tensor, CpdModel start, double ridge, bool nonnegative = false)
      : given_(summed(tensor)), model_(std::move(start)), nonnegative_(nonnegative) {
    double squares = 0;
    for (const auto& [point, x] : given_) squares += x * x;
    const double size = std::sqrt(squares / static_cast<double>(given_.size()));
    ridge_ = ridge * std::pow(size, 2 - 2 / static_cast<double>(model_.factors.size()));
  }

  // A sweep in which each row takes `steps` steps of conjugate gradients.
  void sweep(int steps) {
    for (std::size_t n = 0; n < model_.factors.size(); ++n) {
      for (std::size_t i = 0; i < model_.shape[n]; ++i) solve_row(n, i, steps);
    }
    for (std::size_t n = 0; n < model_.factors.size(); ++n) take_means(n);
  }

  double squared_error() const {
    double sum = 0;
    for (const auto& [point, x] : given_) sum += std::pow(x - model_value(model_, point), 2);
    return sum;
  }

  double objective() const {
    double squares = 0;
    for (std::size_t n = 0; n < model_.factors.size(); ++n) {
      for (std::size_t at = 0; at < model_.factors[n].size(); ++at) {
        if (has_entries(n, at / rank())) squares += model_.factors[n][at] * model_.factors[n][at];
      }
    }
    return squared_error() + ridge_ * squares;
  }

  const CpdModel& model() const { return model_; }

 private:
  std::size_t rank() const { return static_cast<std::size_t>(model_.rank); }

  bool has_entries(std::size_t n, std::size_t i) const {
    return std::ranges::any_of(given_, [&](const auto& entry) { return entry.first[n] == i; });
  }

  // A row without entries is the mean of those with some.
  void take_means(std::size_t n) {
    std::vector<double>& factor = model_.factors[n];
    for (std::size_t r = 0; r < rank(); ++r) {
      double sum = 0;
      double count = 0;
      for (std::size_t i = 0; i < model_.shape[n]; ++i) {
        if (has_entries(n, i)) ++count, sum += factor[i * rank() + r];
      }
      for (std::size_t i = 0; i < model_.shape[n]; ++i) {
        if (!has_entries(n, i)) factor[i * rank() + r] = sum / count;
      }
    }
  }

  void solve_row(std::size_t n, std::size_t i, int steps) {
    DenseMatrix system(rank(), std::vector<double>(rank()));
    std::vector<double> right(rank());
    for (const auto& [point, x] : given_) {
      if (point[n] != i) continue;
      for (std::size_t r = 0; r < rank(); ++r) {
        const double h = product_at(model_, point, r, static_cast<int>(n));
        right[r] += x * h;
        for (std::size_t s = 0; s < rank(); ++s) {
          system[r][s] += h * product_at(model_, point, s, static_cast<int>(n));
        }
      }
    }
    for (std::size_t r = 0; r < rank(); ++r) system[r][r] += ridge_;
    const std::span<double> row = std::span(model_.factors[n]).subspan(i * rank(), rank());
    if (nonnegative_) return descend(system, right, row);
    conjugate_gradients(system, right, row, steps);
  }

  // Coordinate by coordinate to the end.
  static void descend(const DenseMatrix& system, const std::vector<double>& right, std::span<double> x) {
    for (int round = 0; round < 200; ++round) {
      for (std::size_t r = 0; r < x.size(); ++r) {
        double sum = right[r];
        for (std::size_t s = 0; s < x.size(); ++s) sum -= s == r ? 0 : system[r][s] * x[s];
        x[r] = std::max(0.0, sum / system[r][r]);
      }
    }
  }

  // Hestenes & Stiefel.
  static void conjugate_gradients(const DenseMatrix& system, const std::vector<double>& right, std::span<double> x,
                                  int steps) {
    std::vector<double> residual = right;
    for (std::size_t r = 0; r < x.size(); ++r) {
      for (std::size_t s = 0; s < x.size(); ++s) residual[r] -= system[r][s] * x[s];
    }
    std::vector<double> direction = residual;
    double noise = 0;  // of rounding errors, squared
    for (const double b : right) noise += 1e-26 * b * b;
    for (int step = 0; step < steps; ++step) {
      double before = 0;
      double curvature = 0;
      std::vector<double> product(x.size());
      for (std::size_t r = 0; r < x.size(); ++r) {
        for (std::size_t s = 0; s < x.size(); ++s) product[r] += system[r][s] * direction[s];
        before += residual[r] * residual[r];
        curvature += direction[r] * product[r];
      }
      if (before <= noise) return;
      double after = 0;
      for (std::size_t r = 0; r < x.size(); ++r) {
        x[r] += before / curvature * direction[r];
        residual[r] -= before / curvature * product[r];
        after += residual[r] * residual[r];
      }
      for (std::size_t r = 0; r < x.size(); ++r) direction[r] = residual[r] + after / before * direction[r];
    }
  }

  std::map<Point, double> given_;
  CpdModel model_;
  bool nonnegative_;
  double ridge_;
};

TEST(Completion, SweepsAreThoseOfConjugateGradientsOnEachRowsNormalEquations) {
  const std::vector<std::vector<std::uint64_t>> shapes{{30}, {9, 7}, {6, 5, 4}, {4, 3, 5, 2}};
  for (const auto& shape : shapes) {
    for (const int steps : {1, 2, 3}) {
      for (const double ridge : {0.0, 0.3}) {
        SCOPED_TRACE(std::to_string(shape.size()) + " modes, " + std::to_string(steps) + " steps");
        const TemporaryFolder folder;
        const CoordinateTensor coordinates = noisy_cells(shape, 40, 3);
        const CpdModel start = uniform_model(shape, 3, 8);
        DenseCompletion oracle(coordinates, start, ridge);
        CpdOptions options = completion_options(2, &start, {.cg_steps = steps});
        options.ridge = ridge;
        std::vector<std::uint64_t> passes;
        options.on_sweep = [&](const SweepReport& report) {
          passes.push_back(report.passes);
          return true;
        };

        const CpdModel model = fit_cpd(ingest_small_chunks(folder, coordinates, {.chunk_nnz = 10}), options);

        for (std::size_t sweep = 0; sweep < 2; ++sweep) {
          oracle.sweep(steps);
          EXPECT_NEAR(model.objective_history[sweep], oracle.objective(), 1e-9 * oracle.objective() + 1e-15);
          EXPECT_EQ(passes[sweep], shape.size() * static_cast<std::size_t>(steps + 1) + 1);
        }
        for (const Point& cell : cells_of(shape)) {
          EXPECT_NEAR(model_value(model, cell), model_value(oracle.model(), cell), 1e-8);
        }
      }
    }
  }
}

TEST(Completion, ARidgeMeansTheSameInEveryUnitOfTheValues) {
  for (const auto& shape : std::vector<std::vector<std::uint64_t>>{{12, 9}, {8, 7, 6}, {6, 5, 4, 5}}) {
    CoordinateTensor entries = noisy_cells(shape, 200, 3);
    const auto fit = [&](double unit, const CpdMethod& method) {
      CoordinateTensor scaled = entries;
      for (double& value : scaled.values) value *= unit;
      const TemporaryFolder folder;
      CpdOptions options = completion_options(5);
      options.method = method;
      options.ridge = 0.1;
      return fit_cpd(ingest_small_chunks(folder, scaled), options);
    };
    for (const CpdMethod& method : {CpdMethod(CompletionMethod{}), CpdMethod(AlsMethod{})}) {
      const CpdModel expected = fit(1, method);
      for (const double unit : {0x1p12, 0x1p-12}) {
        const CpdModel model = fit(unit, method);

        for (const Point& cell : cells_of(shape)) {
          EXPECT_NEAR(model_value(model, cell) / unit, model_value(expected, cell), 1e-10) << name_of(method);
        }
      }
    }
  }
}

TEST(Completion, EndsNearExactAlternatingLeastSquares) {
  const TemporaryFolder folder;
  const CoordinateTensor coordinates = noisy_cells({14, 12, 10}, 700, 3);
  const CpdModel start = uniform_model(coordinates.shape, 3, 8);
  DenseCompletion exact(coordinates, start, 0);
  for (int sweep = 0; sweep < 30; ++sweep) exact.sweep(3);  // as many steps as unknowns solve a row

  const CpdModel model = fit_cpd(ingest_small_chunks(folder, coordinates), completion_options(30, &start));

  EXPECT_NEAR(std::sqrt(model.objective()), std::sqrt(exact.squared_error()), 0.01 * std::sqrt(exact.squared_error()));
}

// Of values on both sides of 0, so that many bounds hold.
TEST(Completion, NonnegativeFactorsEndNearExactRows) {
  const TemporaryFolder folder;
  CoordinateTensor coordinates = noisy_cells({14, 12, 10}, 700, 3);
  for (std::size_t i = 0; i < coordinates.values.size(); i += 2) coordinates.values[i] -= 0.5;
  CpdModel start = uniform_model(coordinates.shape, 3, 8);
  for (std::vector<double>& factor : start.factors) {
    for (double& number : factor) number = std::abs(number);
  }
  DenseCompletion exact(coordinates, start, 0.1, true);
  for (int sweep = 0; sweep < 100; ++sweep) exact.sweep(0);
  CpdOptions options = completion_options(100, &start);
  options.ridge = 0.1;
  std::get<CompletionMethod>(options.method).constraints.assign(3, {.set = RowSet::nonnegative});

  const CpdModel model = fit_cpd(ingest_small_chunks(folder, coordinates), options);

  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_THAT(model.factors[n], testing::Each(testing::Ge(0)));
    EXPECT_THAT(model.factors[n], testing::Contains(0));
  }
  EXPECT_TRUE(std::ranges::is_sorted(model.objective_history, [](double a, double b) { return a > b * (1 + 1e-12); }));
  EXPECT_NEAR(model.objective(), exact.objective(), 0.01 * exact.objective());
}

TEST(Completion, TakesTheWeightsOfTheInitialModelWithTheirSigns) {
  const TemporaryFolder folder;
  const CoordinateTensor coordinates = noisy_cells({6, 5, 4}, 40, 3);
  CpdModel start = uniform_model(coordinates.shape, 3, 8);
  start.weights = {0.5, -20, 3};
  // Evenly over the modes, the sign in the first.
  CpdModel spread = start;
  spread.weights = {1, 1, 1};
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t at = 0; at < spread.factors[n].size(); ++at) {
      spread.factors[n][at] *= std::cbrt(n == 0 ? start.weights[at % 3] : std::abs(start.weights[at % 3]));
    }
  }
  DenseCompletion oracle(coordinates, spread, 0);

  const CpdModel model = fit_cpd(ingest_small_chunks(folder, coordinates), completion_options(1, &start));

  oracle.sweep(2);
  EXPECT_NEAR(model.objective(), oracle.squared_error(), 1e-9 * oracle.squared_error());
}

// Of 3 x 3 the last index of each mode has no entry.
TEST(Completion, RowsWithoutEntriesAreTheMeanOfTheOthers) {
  const TemporaryFolder folder;
  const CoordinateTensor entries{{3, 3}, {{0, 0}, {0, 1}, {1, 0}, {1, 1}}, {5, 4, 3, 4}};
  const TensorFile tensor = ingest_small_chunks(folder, entries);
  const CpdModel initial = uniform_model({2, 3}, 3, 8);
  for (const double ridge : {0.0, 0.1}) {
    for (const CpdModel* start : {static_cast<const CpdModel*>(nullptr), &initial}) {
      for (const RowSet set : {RowSet::all, RowSet::nonnegative}) {
        CpdOptions options = completion_options(4, start);
        options.ridge = ridge;
        std::get<CompletionMethod>(options.method).constraints.assign(2, {.set = set});

        const CpdModel model = fit_cpd(tensor, options);

        for (const std::vector<double>& factor : model.factors) {
          for (std::size_t r = 0; r < 3; ++r) EXPECT_NEAR(factor[6 + r], (factor[r] + factor[3 + r]) / 2, 1e-14);
        }
        EXPECT_NEAR(model_value(model, {2, 2}), 4, 1);
      }
    }
  }
}

class CompletionBudgets : public CompletionCase {};

TEST_F(CompletionBudgets, TheObjectiveNeverRisesFromRandomFactorsToo) {
  for (const double ridge : {0.0, 0.5}) {
    CpdOptions options = completion_options(20);
    options.ridge = ridge;

    const CpdModel model = fit_cpd(tensor_, options);

    for (std::size_t sweep = 1; sweep < model.objective_history.size(); ++sweep) {
      EXPECT_LE(model.objective_history[sweep], model.objective_history[sweep - 1] * (1 + 1e-12));
    }
    EXPECT_LT(model.objective(), 0.1 * tensor_.summary().sum_of_squares);
  }
}

TEST_F(CompletionBudgets, RandomFactorsHaveTheScaleOfTheValues) {
  CoordinateTensor large = noisy_cells(shape(), 8000, 3);
  for (double& value : large.values) value *= 1e6;
  const TemporaryFolder other;

  const CpdModel model = fit_cpd(tensor_, completion_options(3));
  const CpdModel scaled = fit_cpd(ingest_small_chunks(other, large), completion_options(3));

  EXPECT_NEAR(scaled.objective(), 1e12 * model.objective(), 1e12 * 1e-6 * model.objective());
}

// One to three entries a row: most matrices of rows are singular.
TEST(Completion, RowsWithFewerEntriesThanColumnsStayBounded) {
  const TemporaryFolder folder;
  const CoordinateTensor coordinates = noisy_cells({40, 35, 30}, 70, 3);
  const TensorFile tensor = ingest_small_chunks(folder, coordinates);
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    CpdOptions options = completion_options(60, nullptr, {.cg_steps = 10});
    options.rank = 8;
    options.compute.precision = precision;

    const CpdModel model = fit_cpd(tensor, options);

    EXPECT_LT(model.objective(), (precision == Precision::f64 ? 1e-12 : 1e-6) * tensor.summary().sum_of_squares);
    for (const Point& cell : cells_of(coordinates.shape)) ASSERT_LT(std::abs(model_value(model, cell)), 100);
  }
}

TEST_F(CompletionBudgets, StopsWhereTheErrorChangesByLessThanTheTolerance) {
  CpdOptions options = completion_options(500);
  options.tolerance = 1e-3;

  const CpdModel model = fit_cpd(tensor_, options);

  EXPECT_EQ(model.stop_reason, StopReason::tolerance);
  const std::vector<double>& history = model.objective_history;
  for (std::size_t sweep = 1; sweep < history.size(); ++sweep) {
    const double change = 1 - std::sqrt(history[sweep] / history[sweep - 1]);
    EXPECT_EQ(change < 1e-3, sweep + 1 == history.size()) << sweep;
  }
}

TEST_F(CompletionBudgets, ChangeNoBitOnOneThread) {
  const TensorFile validation = held_out(4);
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    CpdOptions options = completion_options(3, nullptr, {.validation = &validation});
    options.compute.precision = precision;
    const CpdModel expected = fit_cpd(tensor_, options);
    const CpdPlan plan = plan_cpd(tensor_, options);

    for (const std::uint64_t extra : {0u, 20'000u}) {
      std::uint64_t streamed = 0;
      options.on_plan = [&](const CpdPlan& of_fit) { streamed = of_fit.streamed_chunks; };
      expect_same_bits(fit_cpd(tensor_, within({.host_bytes = plan.minimum_bytes + extra}, options)), expected);
      EXPECT_GT(streamed, 0);
    }
  }
}

TEST_F(CompletionBudgets, ThreadsChangeItByRoundingAndNotAtAllWhereThatIsAsked) {
  const CpdModel expected = fit_cpd(tensor_, completion_options(3));
  CpdOptions options = completion_options(3);
  options.compute.threads = 3;

  expect_same_cells(fit_cpd(tensor_, options), expected, 1e-8);
  options.compute.deterministic = true;
  const CpdModel deterministic = fit_cpd(tensor_, options);
  options.compute.threads = 1;
  expect_same_bits(fit_cpd(tensor_, options), deterministic);
}

TEST_F(CompletionBudgets, NarrowFactorsChangeItLittle) {
  const CpdModel expected = fit_cpd(tensor_, completion_options(10));
  for (const Precision precision : {Precision::f32, Precision::mixed}) {
    CpdOptions options = completion_options(10);
    options.compute.precision = precision;
    EXPECT_NEAR(fit_cpd(tensor_, options).objective(), expected.objective(), 1e-4 * expected.objective());
  }
}

TEST_F(CompletionBudgets, AResumedFitGoesOnWithTheSameBits) {
  const TensorFile validation = held_out(4);
  for (const auto& [rank, ridge] : {std::pair{3, automatic_ridge}, std::pair{40, 0.0}}) {
    const std::filesystem::path file = folder_ / "completion.h5";
    const auto options = [&](int sweeps) {
      CpdOptions wanted = completion_options(sweeps, nullptr, {.validation = &validation});
      wanted.rank = rank;
      wanted.ridge = ridge;
      return wanted;
    };
    for (const int until : {1, 3, 5}) {
      CpdOptions first = options(until);
      first.checkpoint = file;
      fit_cpd(tensor_, first);
      CpdOptions second = options(8);
      second.resume = file;

      expect_same_bits(fit_cpd(tensor_, second), fit_cpd(tensor_, options(8)));
    }
  }
}

TEST_F(CompletionBudgets, AFitThatIsCancelledWithinASweepEndsThereWithAModel) {
  CpdOptions options = completion_options(50);
  std::uint64_t passes = 0;
  options.on_progress = [](const Progress& progress) { return progress.sweep < 2; };
  options.on_sweep = [&](const SweepReport& report) {
    passes = report.passes;
    std::this_thread::sleep_for(std::chrono::milliseconds(110));  // so that the next report is due at once
    return true;
  };

  const CpdModel model = fit_cpd(tensor_, options);

  EXPECT_EQ(model.stop_reason, StopReason::cancelled);
  ASSERT_EQ(model.objective_history.size(), 2);
  EXPECT_LE(passes, 3);
  EXPECT_LE(model.objective_history[1], model.objective_history[0]);
}

TEST_F(CompletionBudgets, TheObjectiveOfASweepThatIsCutShortHasTheRidgeOfEveryMode) {
  const std::filesystem::path file = folder_ / "checkpoint.h5";
  CpdOptions options = completion_options(1);
  options.ridge = 1000;
  options.checkpoint = file;
  fit_cpd(tensor_, options);
  const CpdModel start = load_model(file);
  options.max_sweeps = 50;
  options.resume = file;
  options.on_progress = [](const Progress& progress) { return progress.sweep < 2; };

  const CpdModel model = fit_cpd(tensor_, options);

  // The first mode alone may have changed.
  double squares = 0;
  for (std::size_t n = 1; n < start.factors.size(); ++n) {
    for (const double number : start.factors[n]) squares += number * number;
  }
  EXPECT_EQ(model.stop_reason, StopReason::cancelled);
  ASSERT_EQ(model.objective_history.size(), 2);
  const TensorSummary& tensor = tensor_.summary();
  const double mean_square = tensor.sum_of_squares / static_cast<double>(tensor.nnz);
  EXPECT_GE(model.objective_history[1], options.ridge * std::pow(mean_square, 2.0 / 3) * squares);
}

}  // namespace
}  // namespace blco
