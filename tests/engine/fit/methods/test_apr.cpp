// CP-APR against the algorithm written out over all cells of small tensors, and against figures of pyttb 1.8.6.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "engine/fit/cp_fit.hpp"
#include "tests/engine/fit/dense_model.hpp"
#include "tests/engine/within_budget.hpp"

namespace blco {
namespace {

using Counts = std::map<Point, double>;  // other cells are zero

// The algorithm in its plainest form: every sum is one over all cells.
class DenseApr {
 public:
  DenseApr(const CoordinateTensor& tensor, CpdModel start, const AprMethod& options = {}, double tolerance = 1e-4)
      : counts_(summed(tensor)),
        cells_(cells_of(tensor.shape)),
        model_(std::move(start)),
        options_(options),
        tolerance_(tolerance) {
    for (std::size_t n = 0; n < model_.factors.size(); ++n) normalise(n);
    double squares = 0;
    for (const auto& [cell, count] : counts_) squares += count * count;
    while (unit_ * unit_ * static_cast<double>(counts_.size()) < squares) unit_ *= 2;
  }

  // Largest violation of any mode before its update.
  double sweep() {
    double violation = 0;
    for (std::size_t n = 0; n < model_.factors.size(); ++n) violation = std::max(violation, update(n));
    return violation;
  }

  double objective() const {
    double sum = 0;
    for (const Point& cell : cells_) {
      const double m = model_value(model_, cell);
      const double x = count_at(cell);
      sum += x > 0 ? m - x * std::log(std::max(m, options_.floor)) : m;
    }
    return sum;
  }

  const CpdModel& model() const { return model_; }

 private:
  std::size_t rank() const { return static_cast<std::size_t>(model_.rank); }
  double count_at(const Point& cell) const {
    const auto found = counts_.find(cell);
    return found == counts_.end() ? 0.0 : found->second;
  }

  void normalise(std::size_t n) {
    for (std::size_t r = 0; r < rank(); ++r) {
      double sum = 0;
      for (std::size_t i = 0; i < model_.shape[n]; ++i) sum += model_.factors[n][i * rank() + r];
      for (std::size_t i = 0; i < model_.shape[n] && sum > 0; ++i) model_.factors[n][i * rank() + r] /= sum;
      model_.weights[r] *= sum;
    }
  }

  std::vector<double> phi(std::size_t n) const {
    std::vector<double> phi(model_.factors[n].size());
    for (const Point& cell : cells_) {
      const double ratio = count_at(cell) / std::max(model_value(model_, cell), options_.floor);
      for (std::size_t r = 0; r < rank(); ++r) {
        phi[cell[n] * rank() + r] += ratio * product_at(model_, cell, r, static_cast<int>(n));
      }
    }
    return phi;
  }

  double update(std::size_t n) {
    std::vector<double>& factor = model_.factors[n];
    double first_violation = 0;
    for (int inner = 0; inner < options_.inner; ++inner) {
      std::vector<double> ratios = phi(n);
      double violation = 0;
      bool is_changed = false;
      for (std::size_t at = 0; at < factor.size(); ++at) {
        const double b = factor[at] * model_.weights[at % rank()];
        violation = std::max(violation, std::abs(std::min(b / unit_, 1 - ratios[at])));
      }
      if (inner == 0) first_violation = violation;
      if (violation < tolerance_) break;
      for (std::size_t at = 0; at < factor.size() && inner == 0; ++at) {
        if (factor[at] >= options_.kappa_tolerance || ratios[at] <= 1 + tolerance_) continue;
        factor[at] += options_.kappa;
        is_changed = true;
      }
      if (is_changed) ratios = phi(n);
      for (std::size_t at = 0; at < factor.size(); ++at) factor[at] *= ratios[at];
    }
    normalise(n);
    return first_violation;
  }

  Counts counts_;
  std::vector<Point> cells_;
  CpdModel model_;
  AprMethod options_;
  double tolerance_;
  double unit_ = 1;  // the first power of 2 that is at least the counts' root mean square
};

CpdOptions apr_options(int sweeps, const CpdModel* initial = nullptr, const AprMethod& method = {}) {
  CpdOptions options{.method = method, .rank = 3, .max_sweeps = sweeps, .compute = {.devices = {"cpu"}, .threads = 1}};
  options.initial = initial;
  return options;
}

CoordinateTensor count_tensor(const std::vector<std::uint64_t>& shape, std::size_t nnz) {
  return random_coordinates({.shape = shape, .nnz = nnz, .seed = 3, .counts = true});
}

TEST(Apr, SweepsAreThoseOfTheAlgorithmOverAllCells) {
  const std::vector<std::vector<std::uint64_t>> shapes{{30}, {9, 7}, {6, 5, 4}, {4, 3, 5, 2}};
  for (const auto& shape : shapes) {
    const TemporaryFolder folder;
    const CoordinateTensor coordinates = count_tensor(shape, 25);
    const CpdModel start = uniform_model(shape, 3, 8);
    DenseApr oracle(coordinates, start);
    const TensorFile tensor = ingest_small_chunks(folder, coordinates, {.chunk_nnz = 10});

    for (int sweeps = 1; sweeps <= 4; ++sweeps) {
      SCOPED_TRACE(std::to_string(shape.size()) + " modes, " + std::to_string(sweeps) + " sweeps");
      const double violation = oracle.sweep();
      CpdOptions options = apr_options(sweeps, &start);
      SweepReport last;
      options.on_sweep = [&](const SweepReport& report) {
        last = report;
        return true;
      };
      const CpdModel model = fit_cpd(tensor, options);

      if (model.stop_reason == StopReason::tolerance) break;
      EXPECT_NEAR(model.objective(), oracle.objective(), 1e-10 * std::abs(oracle.objective()));
      EXPECT_NEAR(last.kkt_violation, violation, 1e-9 * std::max(1.0, violation));
      expect_same_cells(model, oracle.model(), 1e-9);
    }
  }
}

TEST(Apr, CountsTheWeightsOfTheInitialModel) {
  const TemporaryFolder folder;
  const CoordinateTensor coordinates = count_tensor({6, 5, 4}, 25);
  CpdModel start = uniform_model({6, 5, 4}, 3, 8);
  start.weights = {0.5, 20, 3};
  DenseApr oracle(coordinates, start);

  const CpdModel model = fit_cpd(ingest_small_chunks(folder, coordinates), apr_options(1, &start));

  oracle.sweep();
  expect_same_cells(model, oracle.model(), 1e-9);
}

TEST(Apr, ConvergesToOptimalityConditionsAndItsObjectiveNeverRises) {
  const TemporaryFolder folder;
  const CoordinateTensor coordinates = count_tensor({12, 10, 8}, 200);
  const TensorFile tensor = ingest_small_chunks(folder, coordinates, {.chunk_nnz = 50});
  CpdOptions options = apr_options(2000, nullptr, {.kappa = 0});
  options.tolerance = 1e-3;

  const CpdModel model = fit_cpd(tensor, options);

  EXPECT_EQ(model.stop_reason, StopReason::tolerance);
  for (std::size_t sweep = 1; sweep < model.objective_history.size(); ++sweep) {
    EXPECT_LE(model.objective_history[sweep], model.objective_history[sweep - 1] + 1e-9);
  }
  // A sweep that starts from it finds no violation worth an update, but for the rounding of a new normalisation.
  DenseApr oracle(coordinates, model, {.kappa = 0}, 1.01e-3);
  EXPECT_LT(oracle.sweep(), 1.01e-3);
  EXPECT_NEAR(model.objective(), oracle.objective(), 1e-9 * std::abs(oracle.objective()));
}

// pyttb 1.8.6, cp_apr with algorithm "mu" and 100 iterations: log-likelihood -11.61601 from a clean start, and with
// four zeros planted in it -18.523248 and a KKT violation of 2.5555 for kappa = 0, but -11.616006 for kappa = 0.01.
TEST(Apr, FreesPlantedZeros) {
  const TemporaryFolder folder;
  CoordinateTensor coordinates{{4, 3, 3}, {}, {}};
  const auto add = [&](const Point& point, double count) {
    coordinates.points.push_back(point);
    coordinates.values.push_back(count);
  };
  for (const Point& cell : cells_of(coordinates.shape)) {
    const bool is_first_block = cell[0] < 2 && cell[1] < 2 && cell[2] < 2;
    const bool is_second_block = cell[0] >= 2 && cell[1] >= 1 && cell[2] == 2;
    if (cell == Point{0, 0, 0}) {
      add(cell, 3);
    } else if (cell == Point{3, 2, 2} || cell == Point{1, 1, 2} || is_first_block) {
      add(cell, 1);
    } else if (is_second_block) {
      add(cell, 2);
    }
  }
  CpdModel start = uniform_model(coordinates.shape, 2, 1);
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t at = 0; at < start.factors[n].size(); ++at) {
      start.factors[n][at] = static_cast<double>((7 * (at / 2) + 5 * (at % 2) + 3 * n) % 11 + 1) / 11;
    }
  }
  start.factors[0][4] = start.factors[0][6] = start.factors[1][2] = start.factors[2][4] = 0;
  const TensorFile tensor = ingest_small_chunks(folder, coordinates);
  double violation = 0;
  const auto fit = [&](double kappa) {
    CpdOptions options = apr_options(200, &start, {.kappa = kappa});
    options.rank = 2;
    options.on_sweep = [&](const SweepReport& report) {
      violation = report.kkt_violation;
      return true;
    };
    return fit_cpd(tensor, options);
  };

  const CpdModel stuck = fit(0);
  EXPECT_NEAR(stuck.objective(), 18.523248, 1e-5);
  EXPECT_NEAR(violation, 2.555555, 1e-5);
  EXPECT_EQ(stuck.stop_reason, StopReason::sweeps);
  const CpdModel freed = fit(0.01);
  EXPECT_NEAR(freed.objective(), 11.61601, 1e-4);
  EXPECT_LT(violation, 1e-4);
  EXPECT_EQ(freed.stop_reason, StopReason::tolerance);
}

class AprBudgets : public testing::Test {
 protected:
  AprBudgets() : tensor_(ingest_small_chunks(folder_, count_tensor({60, 50, 40}, 10'000), {.chunk_nnz = 500})) {}

  TemporaryFolder folder_;
  TensorFile tensor_;
};

TEST_F(AprBudgets, GiveTheSameBitsOnOneThread) {
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    CpdOptions options = apr_options(3);
    options.compute.precision = precision;
    const CpdModel expected = fit_cpd(tensor_, options);
    const CpdPlan plan = plan_cpd(tensor_, options);

    for (const std::uint64_t extra : {0u, 15'000u}) {
      std::uint64_t streamed = 0;
      options.on_plan = [&](const CpdPlan& of_fit) { streamed = of_fit.streamed_chunks; };
      expect_same_bits(fit_cpd(tensor_, within({.host_bytes = plan.minimum_bytes + extra}, options)), expected);
      EXPECT_GT(streamed, 0);
    }
  }
}

TEST_F(AprBudgets, AndThreadsChangeItByRoundingAndNotAtAllWhereThatIsAsked) {
  const CpdModel expected = fit_cpd(tensor_, apr_options(3));
  CpdOptions options = apr_options(3);
  options.compute.threads = 3;

  const CpdModel by_three = fit_cpd(tensor_, options);
  EXPECT_NEAR(by_three.objective(), expected.objective(), 1e-9 * std::abs(expected.objective()));
  expect_same_cells(by_three, expected, 1e-9);
  options.compute.deterministic = true;
  const CpdModel deterministic = fit_cpd(tensor_, options);
  options.compute.threads = 1;
  expect_same_bits(fit_cpd(tensor_, options), deterministic);
}

TEST_F(AprBudgets, NarrowFactorsChangeItLittle) {
  const CpdModel expected = fit_cpd(tensor_, apr_options(3));
  for (const Precision precision : {Precision::f32, Precision::mixed}) {
    CpdOptions options = apr_options(3);
    options.compute.precision = precision;
    expect_same_cells(fit_cpd(tensor_, options), expected, 1e-4);
  }
}

TEST_F(AprBudgets, AReorderedTensorGivesTheSameModel) {
  const CpdModel expected = fit_cpd(tensor_, apr_options(3));
  const TemporaryFolder other;
  const TensorFile reordered = ingest_small_chunks(other, count_tensor({60, 50, 40}, 10'000),
                                                   {.reorder = Reorder::frequency, .chunk_nnz = 500});
  ASSERT_FALSE(reordered.summary().reordered_modes.empty());

  expect_same_cells(fit_cpd(reordered, apr_options(3)), expected, 1e-9);
}

TEST_F(AprBudgets, AResumedFitGoesOnWithTheSameBits) {
  for (const Precision precision : {Precision::f64, Precision::f32, Precision::mixed}) {
    const std::filesystem::path file = folder_ / "apr.h5";
    CpdOptions first = apr_options(3);
    first.compute.precision = precision;
    first.checkpoint = file;
    fit_cpd(tensor_, first);
    CpdOptions second = apr_options(6);
    second.compute.precision = precision;
    second.resume = file;
    CpdOptions unbroken = apr_options(6);
    unbroken.compute.precision = precision;

    expect_same_bits(fit_cpd(tensor_, second), fit_cpd(tensor_, unbroken));
  }
}

TEST_F(AprBudgets, AFitThatIsCancelledWithinASweepEndsThereWithAModel) {
  CpdOptions options = apr_options(50);
  std::uint64_t passes = 0;
  options.on_progress = [](const Progress& progress) { return progress.sweep < 2; };
  options.on_sweep = [&](const SweepReport& report) {
    passes = report.passes;
    std::this_thread::sleep_for(std::chrono::milliseconds(110));  // so that the next report is due at once
    return true;
  };

  const CpdModel model = fit_cpd(tensor_, options);

  EXPECT_EQ(model.stop_reason, StopReason::cancelled);
  EXPECT_EQ(model.objective_history.size(), 2);
  EXPECT_LE(passes, 3);
  EXPECT_LE(model.objective_history[1], model.objective_history[0]);
}

TEST_F(AprBudgets, AFitThatIsCancelledAnywhereInASweepIsNoWorseThanBefore) {
  // So much is added to small numbers that some passes make the model worse.
  CpdOptions options = apr_options(2);
  options.method = AprMethod{.kappa = 10, .kappa_tolerance = 0.01};
  const std::uint64_t nnz = tensor_.summary().nnz;
  const CpdModel whole = fit_cpd(tensor_, options);
  std::size_t cut = 0;

  for (std::uint64_t passes = 0; passes < 40; ++passes) {
    options.on_progress = [&](const Progress& at) { return at.sweep < 2 || at.nonzeros <= passes * nnz; };
    ProgressMeter every_chunk(options.on_progress, 0, std::chrono::milliseconds(0));
    const FitStart start(tensor_.summary(), options);
    Job job(tensor_, options.compute, fit_needs(tensor_, options));
    const ConstantModel constant = check_entries(tensor_, start.of_method, start.value_exponent, every_chunk);
    const CpdModel model = CpFit(tensor_, start, job, job.make_workers(&every_chunk), every_chunk, constant).run();

    EXPECT_EQ(model.objective_history[0], whole.objective_history[0]);
    EXPECT_LE(model.objective_history[1], model.objective_history[0]) << "stopped after pass " << passes;
    cut += model.objective_history[1] == whole.objective_history[1] ? 0 : 1;
  }
  EXPECT_GT(cut, 20U);
}

TEST_F(AprBudgets, RefusesWhatDoesNotGoTogether) {
  const auto complaint_of = [this](const CpdOptions& options, const TensorFile& tensor) -> std::string {
    try {
      fit_cpd(tensor, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      return error.what();
    }
    return "accepted";
  };
  CpdModel negative = uniform_model({60, 50, 40}, 3, 1);
  negative.factors[1][7] = -0.5;
  CoordinateTensor debts = count_tensor({60, 50, 40}, 2000);
  debts.points.push_back({1, 2, 3});
  debts.values.push_back(-7.5);
  const TemporaryFolder other;
  CpdOptions ridge = apr_options(1);
  ridge.ridge = 0.1;

  EXPECT_EQ(complaint_of(apr_options(1), ingest_small_chunks(other, debts)),
            "the value at (1, 2, 3), counted from 0, is -7.5, but `method = apr` takes counts, which are at least 0; "
            "use `method = als`");
  EXPECT_EQ(complaint_of(apr_options(1, &negative), tensor_),
            "factor 1 of the initial model has negative entries, but `method = apr` takes weights and factors of at "
            "least 0; start from a nonnegative model, or leave out `initial`");
  EXPECT_EQ(complaint_of(ridge, tensor_),
            "`ridge` belongs to the methods als and complete; leave it out, or use another method");
  EXPECT_EQ(complaint_of(apr_options(1, nullptr, {.inner = 0}), tensor_),
            "`inner` must be at least 1");
  EXPECT_EQ(complaint_of(apr_options(1, nullptr, {.kappa = -1}), tensor_), "`kappa` must be at least 0");
  EXPECT_EQ(complaint_of(apr_options(1, nullptr, {.floor = 0}), tensor_), "`floor` must be above 0");
}

}  // namespace
}  // namespace blco
