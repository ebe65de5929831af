// Momentum between sweeps: what a fit keeps, takes and says. check_methods_momentum.py has its numbers from numpy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <blco/starts.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "engine/common/progress_meter.hpp"
#include "engine/fit/cp_fit.hpp"
#include "engine/model/arrange_components.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

constexpr int momentum_sweeps = 40;

struct MomentumCase {
  std::string name;
  CpdMethod method = AlsMethod();
  double ridge = 0;
  Precision precision = Precision::f64;
};

class MomentumFit : public testing::Test {
 protected:
  MomentumFit() : tensor_(ingest({.shape = {30, 25, 20}, .nnz = 4000, .seed = 6, .counts = true})) {}

  TensorFile ingest(const RandomTensor& what) {
    cells_ = random_coordinates(what);
    const std::filesystem::path output = folder_ / "in.blco";
    ingest_files({folder_.write("in.tns", as_text(cells_))}, output, {.shape = what.shape, .chunk_nnz = 1000});
    return TensorFile(output);
  }

  // One thread: then sums run in one order.
  static CpdOptions options(int sweeps, const MomentumCase& of = {}) {
    CpdOptions options{.method = of.method, .rank = 5, .max_sweeps = sweeps, .tolerance = 0, .ridge = of.ridge};
    options.momentum = true;
    options.seed = 3;
    options.compute = {.devices = {"cpu"}, .precision = of.precision, .threads = 1};
    return options;
  }

  std::vector<int> restarts_of(CpdOptions options) const {
    std::vector<int> restarts;
    options.on_sweep = [&](const SweepReport& report) {
      if (report.restarted) restarts.push_back(report.sweep);
      return true;
    };
    fit_cpd(tensor_, options);
    return restarts;
  }

  // By a sum over all cells.
  double fit_of(const CpdModel& model) const {
    std::map<Point, double> values;
    for (std::size_t i = 0; i < cells_.points.size(); ++i) values[cells_.points[i]] += cells_.values[i];
    double squares = 0;
    double errors = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
      for (std::uint64_t j = 0; j < 25; ++j) {
        for (std::uint64_t k = 0; k < 20; ++k) {
          double expected = 0;
          for (std::size_t r = 0; r < 5; ++r) {
            expected += model.weights[r] * model.factors[0][i * 5 + r] * model.factors[1][j * 5 + r] *
                        model.factors[2][k * 5 + r];
          }
          const auto cell = values.find({i, j, k});
          const double value = cell == values.end() ? 0 : cell->second;
          squares += value * value;
          errors += (value - expected) * (value - expected);
        }
      }
    }
    return 1 - std::sqrt(errors / squares);
  }

  std::string refusal_of(const CpdOptions& wanted) const {
    try {
      fit_cpd(tensor_, wanted);
    } catch (const Error& error) {
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  std::filesystem::path file() const { return folder_ / "momentum.h5"; }

  TemporaryFolder folder_;
  CoordinateTensor cells_;
  TensorFile tensor_;
};

void expect_equal_numbers(const CpdModel& actual, const CpdModel& expected) {
  EXPECT_EQ(actual.fit_history, expected.fit_history);
  EXPECT_EQ(actual.weights, expected.weights);
  EXPECT_EQ(actual.factors, expected.factors);
}

class EveryMomentum : public MomentumFit, public testing::WithParamInterface<MomentumCase> {};

INSTANTIATE_TEST_SUITE_P(
    Momentum, EveryMomentum,
    testing::Values(MomentumCase{"plain"},
                    MomentumCase{"nonnegative", AlsMethod{std::vector<RowConstraint>(3, {.set = RowSet::nonnegative})}},
                    MomentumCase{"ridge", AlsMethod(), 0.1}, MomentumCase{"single", AlsMethod(), 0, Precision::f32},
                    MomentumCase{"mixed", AlsMethod(), 0, Precision::mixed}),
    [](const auto& which) { return which.param.name; });

TEST_P(EveryMomentum, GoesOnFromAnyCheckpointBitForBit) {
  const CpdModel whole = fit_cpd(tensor_, options(momentum_sweeps, GetParam()));
  const std::vector<int> restarts = restarts_of(options(momentum_sweeps, GetParam()));
  std::vector<int> stops = {1, 5, 6, 7, 8, momentum_sweeps - 1};
  for (const int restart : restarts) stops.insert(stops.end(), {restart - 1, restart, restart + 1});
  for (const int stop : stops) {
    SCOPED_TRACE(stop);
    CpdOptions first = options(stop, GetParam());
    first.checkpoint = file();
    fit_cpd(tensor_, first);
    CpdOptions second = options(momentum_sweeps, GetParam());
    second.momentum.reset();  // as in the file
    second.resume = file();

    expect_equal_numbers(fit_cpd(tensor_, second), whole);
  }
}

TEST_P(EveryMomentum, HasTheModelWhoseFitItTellsAfterEachSweep) {
  const bool rounds = GetParam().precision != Precision::f64;
  const std::vector<int> restarts = restarts_of(options(momentum_sweeps, GetParam()));
  CpdModel before;
  for (int sweeps = 1; sweeps <= momentum_sweeps; ++sweeps) {
    SCOPED_TRACE(sweeps);
    const CpdModel model = fit_cpd(tensor_, options(sweeps, GetParam()));
    EXPECT_NEAR(model.fit(), fit_of(model), rounds ? 1e-5 : 1e-10);
    if (std::ranges::count(restarts, sweeps) > 0) {
      EXPECT_EQ(model.factors, before.factors);
      EXPECT_EQ(model.weights, before.weights);
      EXPECT_EQ(model.fit(), before.fit());
    }
    before = model;
  }
}

TEST_P(EveryMomentum, LowersWhatIsMinimisedInEachSweepAndEndsNoHigherThanPlainSweeps) {
  const auto minimised_by = [&](const CpdOptions& wanted) {
    const CpdModel model = fit_cpd(tensor_, wanted);
    double squares = 0;
    for (const double weight : model.weights) squares += weight * weight;
    const double error = 1 - model.fit();
    return error * error * tensor_.summary().sum_of_squares + GetParam().ridge * squares;
  };
  const double rounding = GetParam().precision == Precision::f64 ? 1e-9 : 1e-5;
  double last = minimised_by(options(1, GetParam()));
  for (int sweeps = 2; sweeps <= momentum_sweeps; ++sweeps) {
    const double now = minimised_by(options(sweeps, GetParam()));
    // Until the second sweep other modes may have columns that are not normalised.
    if (sweeps > 2) {
      EXPECT_LE(now, last * (1 + rounding)) << sweeps;
    }
    last = now;
  }
  CpdOptions plain = options(momentum_sweeps, GetParam());
  plain.momentum = false;

  EXPECT_LT(last, minimised_by(plain));
}

TEST_F(MomentumFit, OfANonnegativeModelKeepsItSo) {
  const MomentumCase nonnegative{"", AlsMethod{std::vector<RowConstraint>(3, {.set = RowSet::nonnegative})}};
  for (const int sweeps : {7, 12, momentum_sweeps}) {
    for (const std::vector<double>& factor : fit_cpd(tensor_, options(sweeps, nonnegative)).factors) {
      EXPECT_GE(*std::ranges::min_element(factor), 0);
    }
  }
}

// A sweep is slow if it gains less than a fiftieth of what the model has gained over one of zeros.
TEST_F(MomentumFit, HasTheSweepsOfAPlainOneUntilTheyAreSlow) {
  // So sparse that the first sweeps gain much.
  const TensorFile sparse = ingest({.shape = {30, 25, 20}, .nnz = 300, .seed = 2});
  CpdOptions plain = options(momentum_sweeps);
  plain.momentum = false;
  const auto error_after = [fits = fit_cpd(sparse, plain).fit_history](int sweeps) {
    const double error = 1 - fits[static_cast<std::size_t>(sweeps - 1)];
    return error * error;
  };
  int begin = 3;
  while (error_after(begin - 1) - error_after(begin) > (1 - error_after(begin)) / 50) ++begin;
  ASSERT_GT(begin, 3);
  ASSERT_LT(begin, momentum_sweeps);

  plain.max_sweeps = begin;
  expect_equal_numbers(fit_cpd(sparse, options(begin)), fit_cpd(sparse, plain));
  plain.max_sweeps = begin + 1;
  EXPECT_NE(fit_cpd(sparse, options(begin + 1)).weights, fit_cpd(sparse, plain).weights);
}

TEST_F(MomentumFit, IsOnWhereItGoesUnlessItIsTurnedOff) {
  CpdOptions unset = options(12);
  unset.momentum.reset();
  expect_equal_numbers(fit_cpd(tensor_, unset), fit_cpd(tensor_, options(12)));
  EXPECT_EQ(plan_cpd(tensor_, unset).minimum_bytes, plan_cpd(tensor_, options(12)).minimum_bytes);

  unset.method = AlsMethod{{{}, {.set = RowSet::simplex}, {}}};
  CpdOptions off = unset;
  off.momentum = false;
  expect_equal_numbers(fit_cpd(tensor_, unset), fit_cpd(tensor_, off));
  EXPECT_EQ(plan_cpd(tensor_, unset).minimum_bytes, plan_cpd(tensor_, off).minimum_bytes);
}

TEST_F(MomentumFit, GoesOnFromAPlainCheckpointWithoutAPast) {
  CpdOptions first = options(10);
  first.momentum = false;
  first.checkpoint = file();
  fit_cpd(tensor_, first);
  CpdOptions plain = options(11);
  plain.momentum = false;
  CpdOptions second = options(11);
  second.resume = file();

  expect_equal_numbers(fit_cpd(tensor_, second), fit_cpd(tensor_, plain));
  second.momentum.reset();
  second.max_sweeps = plain.max_sweeps = 30;
  expect_equal_numbers(fit_cpd(tensor_, second), fit_cpd(tensor_, plain));
  second.momentum = true;
  EXPECT_GT(fit_cpd(tensor_, second).fit(), fit_cpd(tensor_, plain).fit());
}

TEST_F(MomentumFit, IsToldByItsCheckpointAndNotTurnedOffThere) {
  CpdOptions first = options(9);
  first.checkpoint = file();
  fit_cpd(tensor_, first);
  CpdOptions second = options(12);
  second.resume = file();
  second.momentum = false;

  EXPECT_EQ(options_of_model(file()).momentum, true);
  EXPECT_THAT(refusal_of(second), testing::HasSubstr("`momentum = on`, not off"));
}

TEST_F(MomentumFit, TakesOneCopyOfTheFactorsMoreAndNamesItselfWhereThereIsNoRoom) {
  CpdOptions off = options(3);
  off.momentum = false;
  const std::uint64_t least = plan_cpd(tensor_, options(3)).minimum_bytes;
  const std::uint64_t copy = (30 + 25 + 20) * 5 * sizeof(double);

  EXPECT_EQ(least - plan_cpd(tensor_, off).minimum_bytes, copy);
  expect_equal_numbers(fit_cpd(tensor_, within({.host_bytes = least}, options(9))), fit_cpd(tensor_, options(9)));
  EXPECT_THAT(refusal_of(within({.host_bytes = least - 1}, options(3))), testing::HasSubstr("`momentum = off`"));
  EXPECT_THAT(refusal_of(within({.host_bytes = 1 << 20}, off)), testing::Not(testing::HasSubstr("momentum")));
}

// A small change by the third sweep since momentum began, or before, after a restart a tenth of that. Then two in a row
// of which the last does not grow; after a restart not before the fifth sweep since it began again. Or one by ten
// sweeps together.
bool may_end_after(const std::vector<SweepReport>& reports, double tolerance) {
  const std::size_t count = reports.size();
  if (count > 10 && reports[count - 1].fit - reports[count - 11].fit < tolerance) return true;
  int since = 0;
  bool restarted = false;
  for (std::size_t i = 1; i < count; ++i) {
    const double error = 1 - reports[i].fit;
    const double before = 1 - reports[i - 1].fit;
    const bool is_slow = i >= 2 && before * before - error * error <= (1 - error * error) / 50;
    since = reports[i].restarted ? 0 : since + (since > 0 || is_slow ? 1 : 0);
    restarted = restarted || reports[i].restarted;
  }
  if (count < 2 || reports[count - 1].fit_change >= tolerance) return false;
  if (since <= 3 && !reports[count - 1].restarted && (!restarted || reports[count - 1].fit_change < tolerance / 10)) {
    return true;
  }
  if (restarted && since < 5) return false;
  return reports[count - 2].fit_change < tolerance && reports[count - 1].fit_change <= reports[count - 2].fit_change;
}

TEST_F(MomentumFit, StopsAtSmallChangesThatNoRestartHasMade) {
  for (const double tolerance : {1e-3, 1e-5, 1e-8}) {
    SCOPED_TRACE(tolerance);
    CpdOptions by_tolerance = options(500);
    by_tolerance.tolerance = tolerance;
    by_tolerance.checkpoint = file();
    std::vector<SweepReport> reports;
    by_tolerance.on_sweep = [&](const SweepReport& report) {
      EXPECT_FALSE(may_end_after(reports, tolerance)) << report.sweep;
      reports.push_back(report);
      return true;
    };

    const CpdModel model = fit_cpd(tensor_, by_tolerance);

    EXPECT_EQ(model.stop_reason, StopReason::tolerance);
    EXPECT_TRUE(may_end_after(reports, tolerance));
    // It is at its end when it is resumed, by its checkpoint or by its model.
    by_tolerance.on_sweep = {};
    by_tolerance.checkpoint.clear();
    by_tolerance.resume = file();
    EXPECT_EQ(fit_cpd(tensor_, by_tolerance).sweeps(), model.sweeps());
    save(model, file());
    EXPECT_EQ(fit_cpd(tensor_, by_tolerance).sweeps(), model.sweeps());
  }
}

TEST_F(MomentumFit, CancelledWithinASweepLeavesTheLastFinishedOne) {
  const std::vector<int> restarts = restarts_of(options(momentum_sweeps));
  ASSERT_FALSE(restarts.empty());
  for (const int sweep : {3, 8, restarts.front(), restarts.front() + 1}) {
    for (const std::uint64_t passes : {0, 1, 2}) {
      CpdOptions stopped = options(momentum_sweeps);
      stopped.on_progress = [&](const Progress& progress) {
        return progress.sweep != sweep || progress.nonzeros < passes * tensor_.nnz() + 1;
      };
      ProgressMeter every_chunk(stopped.on_progress, 0, std::chrono::milliseconds(0));
      const FitStart start(tensor_.summary(), stopped);
      Job job(tensor_, stopped.compute, fit_needs(tensor_, stopped));
      ASSERT_TRUE(job.plan().keep_previous);

      const CpdModel model = CpFit(tensor_, start, job, job.make_workers(&every_chunk), every_chunk).run();

      EXPECT_EQ(model.stop_reason, StopReason::cancelled);
      expect_equal_numbers(model, fit_cpd(tensor_, options(sweep - 1)));
    }
  }
}

TEST_F(MomentumFit, IsThatOfEachOfSeveralStarts) {
  CpdOptions second = options(20);
  second.seed += 1;

  const StartsReport report = fit_starts(tensor_, options(20), 2);

  EXPECT_EQ(report.starts[0].fit, fit_cpd(tensor_, options(20)).fit());
  EXPECT_EQ(report.starts[1].fit, fit_cpd(tensor_, second).fit());
}

TEST_F(MomentumFit, KeepsAComponentThatIsZero) {
  // Of rank 2, so that components beyond are zero or nearly so.
  const TensorFile small = ingest({.shape = {30, 25, 20}, .nnz = 2, .seed = 2});

  const CpdModel model = fit_cpd(small, options(momentum_sweeps));

  EXPECT_NEAR(model.fit(), 1, 1e-6);
}

TEST_F(MomentumFit, IsRefusedWhereItDoesNotGo) {
  const RowConstraint simplex{.set = RowSet::simplex};
  for (const CpdMethod& method : {CpdMethod(AlsMethod{{{}, simplex, {}}}), CpdMethod(AprMethod()),
                                  CpdMethod(GcpMethod()), CpdMethod(CompletionMethod())}) {
    EXPECT_THAT(refusal_of(options(3, {"", method})), testing::HasSubstr("`momentum` goes with the method als only"));
  }
}

}  // namespace
}  // namespace blco
