// Fits that stop, are saved, and go on: the numbers are those of a fit that never stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/ingest.hpp>
#include <blco/option_table.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "engine/fit/cp_fit.hpp"
#include "engine/model/arrange_components.hpp"
#include "tests/engine/coordinate_tensor.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

void expect_same_numbers(const CpdModel& actual, const CpdModel& expected) {
  EXPECT_EQ(actual.fit_history, expected.fit_history);
  EXPECT_EQ(actual.weights, expected.weights);
  EXPECT_EQ(actual.factors, expected.factors);
  EXPECT_EQ(actual.seed, expected.seed);
}

void expect_near_numbers(const CpdModel& actual, const CpdModel& expected) {
  EXPECT_THAT(actual.fit_history, testing::Pointwise(testing::DoubleNear(1e-12), expected.fit_history));
  EXPECT_THAT(actual.weights, testing::Pointwise(testing::DoubleNear(1e-8), expected.weights));
  for (std::size_t n = 0; n < expected.factors.size(); ++n) {
    EXPECT_THAT(actual.factors[n], testing::Pointwise(testing::DoubleNear(1e-9), expected.factors[n]));
  }
}

// A checkpoint keeps the order and the signs in which its fit goes on.
CpdModel arranged(CpdModel checkpoint) {
  arrange_components(checkpoint);
  return checkpoint;
}

class Checkpoint : public testing::Test {
 protected:
  Checkpoint() : tensor_(ingest("in", {.shape = {60, 50, 40}, .nnz = 20000, .seed = 6, .counts = true})) {}

  TensorFile ingest(const std::string& name, const RandomTensor& what) {
    const std::filesystem::path output = folder_ / (name + ".blco");
    ingest_files({folder_.write(name + ".tns", as_text(random_coordinates(what)))}, output, {.chunk_nnz = 1000});
    return TensorFile(output);
  }

  // One thread: then sums run in one order.
  static CpdOptions options(int sweeps) {
    return {.rank = 6, .max_sweeps = sweeps, .tolerance = 0, .seed = 11, .compute = {.devices = {"cpu"}, .threads = 1}};
  }

  CpdModel whole(int sweeps) const { return fit_cpd(tensor_, options(sweeps)); }

  std::filesystem::path file() const { return folder_ / "checkpoint.h5"; }

  std::string error_of(const CpdOptions& wanted, ErrorKind kind) {
    try {
      fit_cpd(tensor_, wanted);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "accepted";
    return {};
  }

  TemporaryFolder folder_;
  TensorFile tensor_;
};

// Stops a fit within a sweep: at the first report of `sweep` that has some nonzeros behind it, or later in that sweep.
class StopWithin {
 public:
  explicit StopWithin(int sweep, std::uint64_t nonzeros = 0) : sweep_(sweep), nonzeros_(nonzeros) {}
  bool operator()(const Progress& progress) const { return progress.sweep != sweep_ || progress.nonzeros < nonzeros_; }

 private:
  int sweep_;
  std::uint64_t nonzeros_;
};

class EveryPrecision : public Checkpoint, public testing::WithParamInterface<Precision> {};

INSTANTIATE_TEST_SUITE_P(Checkpoint, EveryPrecision, testing::Values(Precision::f64, Precision::f32, Precision::mixed),
                         [](const auto& which) { return to_string(which.param); });

TEST_P(EveryPrecision, IsGoneOnFromBitForBit) {
  CpdOptions first = options(7);
  first.compute.precision = GetParam();
  first.checkpoint = file();
  fit_cpd(tensor_, first);
  EXPECT_EQ(load_model(file()).precision, GetParam());
  CpdOptions second = options(12);
  second.compute.precision = GetParam();
  second.rank = 0;
  second.seed = 99;  // the model's counts
  second.resume = file();
  CpdOptions unbroken = options(12);
  unbroken.compute.precision = GetParam();

  const CpdModel resumed = fit_cpd(tensor_, second);

  expect_same_numbers(resumed, fit_cpd(tensor_, unbroken));
}

TEST_F(Checkpoint, IsWrittenAfterEveryKSweepsAndSaysThatTheFitGoesOn) {
  CpdOptions every_third = options(8);
  every_third.checkpoint = file();
  every_third.checkpoint_sweeps = 3;
  std::vector<std::size_t> sweeps_in_file;
  every_third.on_sweep = [&](const SweepReport&) {
    sweeps_in_file.push_back(0);
    if (!std::filesystem::exists(file())) return true;
    const CpdModel saved = load_model(file());
    sweeps_in_file.back() = saved.fit_history.size();
    EXPECT_EQ(saved.stop_reason, StopReason::unfinished);
    expect_same_numbers(arranged(saved), whole(static_cast<int>(saved.fit_history.size())));
    return true;
  };

  fit_cpd(tensor_, every_third);

  // Seen from the end of each sweep, before it is saved itself.
  EXPECT_THAT(sweeps_in_file, testing::ElementsAre(0, 0, 0, 3, 3, 3, 6, 6));
  EXPECT_EQ(load_model(file()).stop_reason, StopReason::sweeps);
  expect_same_numbers(arranged(load_model(file())), whole(8));
  EXPECT_NE(load_model(file()).weights, whole(8).weights);
}

TEST_F(Checkpoint, OfAFitThatHasEndedGivesItsModelAgain) {
  CpdOptions by_tolerance = options(50);
  by_tolerance.tolerance = 1e-4;
  by_tolerance.checkpoint = file();
  const CpdModel ended = fit_cpd(tensor_, by_tolerance);
  ASSERT_EQ(ended.stop_reason, StopReason::tolerance);
  by_tolerance.checkpoint.clear();
  by_tolerance.resume = file();

  const CpdModel again = fit_cpd(tensor_, by_tolerance);

  EXPECT_EQ(again.stop_reason, StopReason::tolerance);
  expect_same_numbers(again, ended);
  by_tolerance.max_sweeps = static_cast<int>(ended.fit_history.size());
  by_tolerance.tolerance = 0;
  EXPECT_EQ(fit_cpd(tensor_, by_tolerance).stop_reason, StopReason::sweeps);
}

// Takes the folder of a checkpoint away after one sweep, and puts it back after another.
class FolderThatGoes {
 public:
  FolderThatGoes(std::filesystem::path folder, int gone_after, int back_after)
      : folder_(std::move(folder)), gone_after_(gone_after), back_after_(back_after) {
    std::filesystem::create_directory(folder_);
  }
  bool operator()(const SweepReport& report) const {
    if (report.sweep == gone_after_) std::filesystem::remove_all(folder_);
    if (report.sweep == back_after_) std::filesystem::create_directory(folder_);
    return true;
  }

 private:
  std::filesystem::path folder_;
  int gone_after_;
  int back_after_;
};

TEST_F(Checkpoint, ThatCannotBeWrittenIsToldAndTriedAgainWhenItIsDue) {
  const std::filesystem::path folder = folder_ / "goes";
  CpdOptions unlucky = options(9);
  unlucky.checkpoint = folder / "checkpoint.h5";
  unlucky.checkpoint_sweeps = 2;
  unlucky.on_sweep = FolderThatGoes(folder, 3, 7);
  std::vector<int> saved;
  std::vector<int> failed;
  unlucky.on_checkpoint = [&](const CheckpointReport& report) {
    (report.failure ? failed : saved).push_back(report.sweep);
    if (report.failure) {
      EXPECT_EQ(report.failure->kind(), ErrorKind::io);
      EXPECT_THAT(report.failure->what(), testing::HasSubstr("goes"));
    }
  };

  const CpdModel model = fit_cpd(tensor_, unlucky);

  expect_same_numbers(model, whole(9));
  EXPECT_THAT(saved, testing::ElementsAre(2, 8, 9));
  EXPECT_THAT(failed, testing::ElementsAre(4, 6));
  expect_same_numbers(arranged(load_model(unlucky.checkpoint)), model);
}

TEST_F(Checkpoint, ThatCannotBeWrittenAtTheEndCostsNothingButItself) {
  const std::filesystem::path folder = folder_ / "goes";
  CpdOptions unlucky = options(5);
  unlucky.checkpoint = folder / "checkpoint.h5";
  unlucky.on_sweep = FolderThatGoes(folder, 4, 0);

  expect_same_numbers(fit_cpd(tensor_, unlucky), whole(5));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST_F(Checkpoint, IsResumedWithinTheLeastBudget) {
  CpdOptions first = options(3);
  first.checkpoint = file();
  fit_cpd(tensor_, first);
  CpdOptions second = options(5);
  second.resume = file();
  const std::uint64_t minimum = plan_cpd(tensor_, second).minimum_bytes;

  const CpdModel resumed = fit_cpd(tensor_, within({.host_bytes = minimum}, second));

  EXPECT_EQ(minimum, plan_cpd(tensor_, options(5)).minimum_bytes);
  expect_same_numbers(resumed, whole(5));
}

// It has no state, and so no momentum.
TEST_F(Checkpoint, OfAModelThatWasSavedByHandServesTooUpToRounding) {
  CpdOptions plain = options(4);
  plain.momentum = false;
  save(fit_cpd(tensor_, plain), file());
  plain.max_sweeps = 6;
  CpdOptions second = options(6);
  second.resume = file();

  expect_near_numbers(fit_cpd(tensor_, second), fit_cpd(tensor_, plain));
}

TEST_F(Checkpoint, CancelledWithinASweepLeavesTheLastFinishedOne) {
  const std::uint64_t nnz = tensor_.summary().nnz;
  // The first chunk, the end of the first mode's pass and the start of the next, the last chunk.
  for (const std::uint64_t nonzeros : {std::uint64_t{1}, nnz, nnz + 1, 2 * nnz + 1, 3 * nnz}) {
    CpdOptions stopped = options(9);
    stopped.on_progress = StopWithin(5, nonzeros);
    stopped.checkpoint = file();
    stopped.checkpoint_sweeps = 100;
    ProgressMeter every_chunk(stopped.on_progress, 0, std::chrono::milliseconds(0));
    const FitStart start(tensor_.summary(), stopped);
    Job job(tensor_, stopped.compute, fit_needs(tensor_, stopped));
    ASSERT_TRUE(job.plan().keep_previous);

    const CpdModel model = CpFit(tensor_, start, job, job.make_workers(&every_chunk), every_chunk).run();

    EXPECT_EQ(model.stop_reason, StopReason::cancelled);
    expect_same_numbers(model, whole(4));
    expect_same_numbers(arranged(load_model(file())), model);
  }
}

TEST_F(Checkpoint, CancelledWithinTheDenseStepsLeavesTheLastFinishedSweep) {
  const CpdModel one_sweep = whole(1);
  // Several reports of one count of nonzeros: all but the first come from the dense steps.
  for (const int wanted : {1, 2, 3}) {
    CpdOptions stopped = options(9);
    std::uint64_t last = 0;
    int repeats = 0;
    stopped.on_progress = [&](const Progress& progress) {
      repeats = progress.nonzeros == last ? repeats + 1 : 0;
      last = progress.nonzeros;
      return progress.sweep != 2 || repeats < wanted;
    };
    ProgressMeter every_step(stopped.on_progress, 0, std::chrono::milliseconds(0));
    const FitStart start(tensor_.summary(), stopped);
    JobNeeds needs = fit_needs(tensor_, stopped);
    needs.backend.stop = [&] { return every_step.poll(); };
    Job job(tensor_, stopped.compute, needs);

    const CpdModel model = CpFit(tensor_, start, job, job.make_workers(&every_step), every_step).run();

    EXPECT_EQ(model.stop_reason, StopReason::cancelled);
    EXPECT_EQ(repeats, wanted);
    expect_same_numbers(model, one_sweep);
  }
}

TEST_F(Checkpoint, CancelledWithoutRoomForTwoCopiesFinishesItsSweep) {
  CpdOptions stopped = options(9);
  stopped.on_progress = StopWithin(1);
  const std::uint64_t minimum = plan_cpd(tensor_, stopped).minimum_bytes;
  ASSERT_FALSE(plan_cpd(tensor_, within({.host_bytes = minimum}, stopped)).stops_within_sweep);

  const CpdModel model = fit_cpd(tensor_, within({.host_bytes = minimum}, stopped));

  EXPECT_EQ(model.stop_reason, StopReason::cancelled);
  expect_same_numbers(model, whole(1));
}

TEST_F(Checkpoint, CancelledBeforeTheFirstSweepIsDoneThereIsNoModelOfAnyMethod) {
  for (const CpdMethod& method : std::initializer_list<CpdMethod>{
           AlsMethod(), AprMethod(), GcpMethod(), GcpMethod{.loss = {LossKind::poisson, 0}},
           GcpMethod{.loss = {LossKind::huber, 0.5}}, CompletionMethod()}) {
    SCOPED_TRACE(name_of(method));
    CpdOptions stopped = options(9);
    stopped.method = method;
    stopped.on_progress = StopWithin(1);
    // So that a report is due at once.
    stopped.on_plan = [](const CpdPlan&) { std::this_thread::sleep_for(std::chrono::milliseconds(110)); };
    stopped.on_sweep = [](const SweepReport&) { return ADD_FAILURE() << "a sweep is told", true; };
    stopped.checkpoint = file();

    EXPECT_THAT(error_of(stopped, ErrorKind::cancelled), testing::HasSubstr("first sweep"));
    EXPECT_FALSE(std::filesystem::exists(file()));
  }
}

TEST_F(Checkpoint, CancelledInItsFirstSweepAResumedFitIsWhereItWas) {
  save(whole(4), file());
  CpdOptions stopped = options(9);
  stopped.resume = file();
  stopped.on_progress = StopWithin(5);

  const CpdModel model = fit_cpd(tensor_, stopped);

  expect_same_numbers(model, whole(4));
}

TEST_F(Checkpoint, OutOfTimeLeavesTheLastFinishedSweep) {
  CpdOptions limited = options(1000000);
  limited.time_limit_seconds = 2;
  limited.on_sweep = [](const SweepReport& report) {
    if (report.sweep == 3) std::this_thread::sleep_for(std::chrono::seconds(2));
    return true;
  };

  const CpdModel model = fit_cpd(tensor_, limited);

  EXPECT_EQ(model.stop_reason, StopReason::time);
  EXPECT_LE(model.fit_history.size(), 3);
  expect_same_numbers(model, whole(static_cast<int>(model.fit_history.size())));
}

TEST_F(Checkpoint, IsRefusedWhereItDoesNotGoWithTensorOrOptions) {
  save(whole(4), file());
  CpdOptions good = options(9);
  good.resume = file();

  CpdOptions other = good;
  other.rank = 5;
  EXPECT_THAT(error_of(other, ErrorKind::invalid_argument), testing::HasSubstr("`rank = 6`, not 5"));
  other = good;
  other.max_sweeps = 3;
  EXPECT_THAT(error_of(other, ErrorKind::invalid_argument), testing::HasSubstr("4 sweeps"));
  other.rank = 5;
  other.ridge = 0.5;
  other.method = AlsMethod{{{}, {.set = RowSet::nonnegative}, {}}};
  EXPECT_THAT(error_of(other, ErrorKind::invalid_argument),
              testing::HasSubstr("`rank = 6`, not 5; the constraints none, not 'none', 'nonnegative', 'none'; "
                                 "`ridge = 0`, not 0.5; 4 sweeps, more than `max_sweeps = 3`"));
  other = good;
  other.compute.precision = Precision::f32;
  EXPECT_THAT(error_of(other, ErrorKind::invalid_argument), testing::HasSubstr("f64"));
  other = good;
  const CpdModel initial = whole(1);
  other.initial = &initial;
  EXPECT_THAT(error_of(other, ErrorKind::invalid_argument), testing::HasSubstr("not both"));
  other = good;
  other.resume = folder_ / "none.h5";
  error_of(other, ErrorKind::io);
  tensor_ = ingest("same shape", {.shape = {60, 50, 40}, .nnz = 20000, .seed = 7});
  EXPECT_THAT(error_of(good, ErrorKind::invalid_argument), testing::HasSubstr("another tensor"));
}

TEST_F(Checkpoint, IsRefusedToASecondFitFromTheFirstSweepToTheLast) {
  CpdOptions first = options(3);
  first.checkpoint = file();
  first.checkpoint_sweeps = 100;
  CpdOptions second = options(2);
  second.checkpoint = file();
  int refusals = 0;
  first.on_sweep = [&](const SweepReport&) {
    EXPECT_THAT(error_of(second, ErrorKind::io), testing::HasSubstr("another job is writing it"));
    ++refusals;
    return true;
  };

  fit_cpd(tensor_, first);

  EXPECT_EQ(refusals, 3);
  expect_same_numbers(arranged(load_model(file())), whole(3));
  EXPECT_EQ(fit_cpd(tensor_, second).sweeps(), 2U);
}

TEST_F(Checkpoint, SaysWithWhichOptionsItWasFitted) {
  CpdOptions first = options(2);
  first.method =
      AlsMethod{{{.set = RowSet::box, .lower = 0.25, .upper = 3}, {}, {.set = RowSet::nonnegative, .l1 = 0.5}}};
  first.ridge = 0.125;
  first.compute.precision = Precision::mixed;
  first.checkpoint = file();
  fit_cpd(tensor_, first);

  const CpdOptions found = options_of_model(file());

  EXPECT_EQ(std::get<AlsMethod>(found.method).constraints, std::get<AlsMethod>(first.method).constraints);
  EXPECT_EQ(found.rank, 6);
  EXPECT_EQ(found.seed, 11U);
  EXPECT_EQ(found.ridge, 0.125);
  EXPECT_EQ(found.compute.precision, Precision::mixed);
  EXPECT_TRUE(found.resume.empty());
}

TEST_F(Checkpoint, GivesTheOptionsThatAreNotGiven) {
  CpdOptions first = options(2);
  first.method = AprMethod{.inner = 3, .kappa = 0.25};
  first.checkpoint = file();
  fit_cpd(tensor_, first);
  CpdOptions second;

  set_options(second, {{"kappa", 0.5}, {"resume", file().string()}, {"threads", std::uint64_t{1}}}, tensor_.summary());

  EXPECT_EQ(second.resume, file());
  EXPECT_EQ(second.rank, 6);
  EXPECT_EQ(second.seed, 11U);
  EXPECT_EQ(std::get<AprMethod>(second.method).inner, 3);
  EXPECT_EQ(std::get<AprMethod>(second.method).kappa, 0.5);
}

TEST_F(Checkpoint, IsRefusedBeforeTheFitWhereItsPlaceTakesNoFile) {
  CpdOptions nowhere = options(9);
  nowhere.on_plan = [](const CpdPlan&) { ADD_FAILURE() << "the fit has begun"; };
  nowhere.checkpoint = folder_ / "no folder" / "checkpoint.h5";
  EXPECT_THAT(error_of(nowhere, ErrorKind::io), testing::HasSubstr("no folder"));
  nowhere.checkpoint = "/dev/null";
  EXPECT_THAT(error_of(nowhere, ErrorKind::io), testing::HasSubstr("regular file"));
  nowhere.checkpoint.clear();
  nowhere.output = folder_ / "none" / "model.h5";
  EXPECT_THAT(error_of(nowhere, ErrorKind::io), testing::HasSubstr("none"));
}

TEST_F(Checkpoint, DoesNotReplaceTheTensor) {
  CpdOptions own = options(9);
  own.checkpoint = folder_ / "in.blco";
  EXPECT_THAT(error_of(own, ErrorKind::invalid_argument), testing::HasSubstr("is also an input"));
  own.checkpoint.clear();
  own.compute.trace = folder_ / "in.blco";
  EXPECT_THAT(error_of(own, ErrorKind::invalid_argument), testing::HasSubstr("is also an input"));
}

}  // namespace
}  // namespace blco
