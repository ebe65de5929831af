// Loss passes of every backend against a loop over coordinates in extended precision.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "blco/error.hpp"
#include "tests/kernels/loss_cases.hpp"
#include "tests/random_tensor.hpp"

namespace blco::testing {
namespace {

class LossPassOf : public ::testing::TestWithParam<BackendCase> {
 protected:
  // A weight has the relative error of the model's value, so that it is a few times that of an MTTKRP.
  double tolerance() const { return GetParam().precision == Precision::f32 ? 1e-4 : 1e-11; }

  void expect_near(const LossBackend& backend, Backend& results, const LossSums& expected, ModeSet modes) const {
    EXPECT_NEAR(results.sum_of_terms(), static_cast<double>(expected.sum),
                tolerance() * static_cast<double>(expected.sum_size));
    for (std::size_t mode = 0; mode < expected.outputs.size(); ++mode) {
      if (!has_mode(modes, static_cast<int>(mode))) continue;
      EXPECT_THAT(backend.output(static_cast<int>(mode)), RowsNear(expected.outputs[mode], tolerance()))
          << "mode " << mode;
    }
  }

  // None, each and all of the outputs, on the whole tensor.
  void expect_sums(const CooTensor& tensor, std::uint64_t chunk_nnz, LossSetup setup,
                   const LossCase& loss = poisson_given()) const {
    setup.shape = tensor.shape;
    const auto factors = positive_factors(tensor.shape, setup.rank, 11);
    const auto expected = expected_sums(tensor, GetParam().held(factors), setup.rank, loss);
    const auto chunks = encode(tensor, chunk_nnz);
    LossBackend backend(GetParam(), setup);
    backend.load(factors);
    const int order = static_cast<int>(tensor.order());
    std::vector<ModeSet> requests{0};
    for (int mode = 0; mode < order; ++mode) requests.push_back(mode_bit(mode));
    if (setup.all_outputs) requests.push_back(all_modes(order));
    for (const ModeSet modes : requests) {
      SCOPED_TRACE(::testing::Message() << "outputs " << modes << ", rank " << setup.rank << ", order " << order
                                        << ", chunks of " << chunk_nnz);
      backend.pass(chunks, {loss.function, modes});
      expect_near(backend, *backend, expected, modes);
    }
  }
};

TEST_P(LossPassOf, FillsNoneOneOrAllOutputs) {
  const auto tensor = random_tensor({.shape = {97, 33, 65}, .nnz = 2100, .seed = 7, .values = Values::counts});

  for (const std::uint64_t chunk_nnz : {63, 64, 257, 1000, 5000}) expect_sums(tensor, chunk_nnz, {});
}

TEST_P(LossPassOf, FillsThemWithoutPrivateCopies) {
  const auto tensor = random_tensor({.shape = {40, 300, 65}, .nnz = 5000, .seed = 8, .values = Values::counts});

  expect_sums(tensor, 2000, {.private_bytes = 0});
  expect_sums(tensor, 2000, {.rank = 9, .private_bytes = std::uint64_t{60} << 10});
  expect_sums(tensor, 2000, {.all_outputs = false, .private_bytes = 0});
}

TEST_P(LossPassOf, AppliesEveryRuleToEveryLoss) {
  const auto tensor = random_tensor({.shape = {20, 30, 25}, .nnz = 700, .seed = 3, .values = Values::counts});

  for (const LossFormula& formula : every_loss()) {
    SCOPED_TRACE(to_string(formula.loss));
    const auto at_zero = [&](Real m) { return formula.of(0, m); };
    expect_sums(tensor, 400, {}, {{EntryRule::given, formula.loss}, formula.of});
    expect_sums(tensor, 400, {}, {{EntryRule::zero, formula.loss}, [&](Real x, Real m) {
                                    return TermOf{x * at_zero(m).term, x * at_zero(m).weight};
                                  }});
    expect_sums(tensor, 400, {}, {{EntryRule::beyond_zero, formula.loss, 0.25}, [&](Real x, Real m) {
                                    const TermOf given = formula.of(x, m);
                                    const TermOf zero = at_zero(m);
                                    return TermOf{(given.term - zero.term) / 4, (given.weight - zero.weight) / 4};
                                  }});
  }
}

TEST_P(LossPassOf, AppliesTheRulesWithoutALoss) {
  const auto tensor = random_tensor({.shape = {20, 30, 25}, .nnz = 700, .seed = 3, .values = Values::counts});

  // Models of rank 5 lie between 0.002 and 5, so that the floor holds some of them.
  expect_sums(tensor, 400, {}, {{EntryRule::ratio, {}, 2.0, 1.25}, [](Real x, Real m) {
                                  const Real held = std::max<Real>(m, 1.25L);
                                  return TermOf{2 * x * std::log(held), 2 * x / held};
                                }});
  expect_sums(tensor, 400, {}, {{EntryRule::model, {}, -1.0}, [](Real, Real m) { return TermOf{-m, -m}; }});
}

TEST_P(LossPassOf, TakesAnyRank) {
  const auto tensor = random_tensor({.shape = {40, 31, 57}, .nnz = 600, .seed = 2, .values = Values::counts});
  const auto order_4 = random_tensor({.shape = {12, 11, 9, 5}, .nnz = 300, .seed = 2, .values = Values::counts});

  for (const int rank : {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 24, 32, 33, 40, 64, 100}) {
    expect_sums(tensor, 500, {.rank = rank});
    expect_sums(order_4, 500, {.rank = rank});
  }
}

TEST_P(LossPassOf, TakesAnyOrder) {
  const std::vector<std::uint64_t> lengths{19, 7, 33, 5, 12, 3, 64, 2, 2, 3, 2, 2, 2, 2, 2, 2};
  for (const std::size_t order : {1, 2, 4, 5, 8, 16}) {
    const std::vector<std::uint64_t> shape(lengths.begin(), lengths.begin() + static_cast<std::ptrdiff_t>(order));
    expect_sums(random_tensor({.shape = shape, .nnz = 500, .seed = order, .values = Values::counts}), 300, {});
  }
}

TEST_P(LossPassOf, TakesKeysAndValuesThatAreNotStored) {
  const std::vector<std::uint64_t> wide{8192, 8000, 5000, 8191, 4097};
  const auto spread = random_tensor({.shape = wide, .nnz = 900, .seed = 4, .values = Values::counts});
  const auto skewed = random_tensor({.shape = wide, .nnz = 900, .seed = 4, .values = Values::ones, .skew = 40.0});

  for (const std::uint64_t private_bytes : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    expect_sums(spread, 600, {.rank = 3, .private_bytes = private_bytes});
    expect_sums(skewed, 600, {.rank = 3, .private_bytes = private_bytes});
  }
  expect_sums(random_tensor({.shape = {30, 20, 10}, .nnz = 800, .seed = 5, .values = Values::ones}), 300, {});
}

TEST_P(LossPassOf, ContinuesWhereThePassBeforeEnded) {
  const auto tensor = random_tensor({.shape = {30, 40, 25}, .nnz = 3000, .seed = 6, .values = Values::counts});
  const auto chunks = encode(tensor, 700);
  for (const std::uint64_t private_bytes : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    LossBackend backend(GetParam(), {.shape = tensor.shape, .private_bytes = private_bytes});
    const auto factors = positive_factors(tensor.shape, 5, 11);
    backend.load(factors);
    PassRequest request(poisson_given().function, all_modes(3));

    backend.pass(std::span(chunks).first(2), request);
    request.continues = true;
    backend.pass(std::span(chunks).subspan(2), request);

    expect_near(backend, *backend, expected_sums(tensor, GetParam().held(factors), 5, poisson_given()), all_modes(3));
  }
}

TEST_P(LossPassOf, StartsFromZeroAfterAnMttkrp) {
  const auto tensor = random_tensor({.shape = {30, 40, 25}, .nnz = 3000, .seed = 6, .values = Values::counts});
  const auto chunks = encode(tensor, 1000);
  const auto factors = positive_factors(tensor.shape, 5, 11);
  for (const bool all_outputs : {false, true}) {
    LossBackend backend(GetParam(), {.shape = tensor.shape, .all_outputs = all_outputs});
    backend.load(factors);

    backend.pass(chunks, 1);
    const auto mttkrp = backend.output(1);
    backend.pass(chunks, {poisson_given().function, mode_bit(2)});

    const auto held = GetParam().held(factors);
    EXPECT_THAT(mttkrp, RowsNear(coordinate_mttkrp(tensor, held, 5, 1), tolerance()));
    expect_near(backend, *backend, expected_sums(tensor, held, 5, poisson_given()), mode_bit(2));
  }
}

TEST_P(LossPassOf, SeesTheFactorThatAnUpdateLeft) {
  const auto tensor = random_tensor({.shape = {30, 40, 25}, .nnz = 3000, .seed = 6, .values = Values::counts});
  const auto chunks = encode(tensor, 1000);
  auto factors = positive_factors(tensor.shape, 3, 11);
  LossBackend backend(GetParam(), {.shape = tensor.shape, .rank = 3, .all_outputs = false});
  backend.load(factors);
  backend.pass(chunks, 0);
  backend->update_rows(0, RowSolver(std::vector<double>{4, 1, 0, 1, 5, 1, 0, 1, 6}, 3));
  backend->store_factor(0, 0, factors[0]);
  const LossCase gaussian{{EntryRule::given, {LossKind::gaussian}}, every_loss()[0].of};

  backend.pass(chunks, {gaussian.function, mode_bit(1)});

  expect_near(backend, *backend, expected_sums(tensor, GetParam().held(factors), 3, gaussian), mode_bit(1));
}

TEST_P(LossPassOf, RefusesACoordinateOutsideItsMode) {
  // Encoded under a longer shape of as many bits, so that index 100 of mode 1 gets through to a tensor of length 100.
  const auto tensor = random_tensor({.shape = {64, 101, 32}, .nnz = 3000, .seed = 13});
  auto chunks = encode(tensor, 1000);
  for (auto& chunk : chunks) chunk.upper[1] = std::min<std::uint64_t>(chunk.upper[1], 99);
  for (const std::uint64_t private_bytes : {std::uint64_t{0}, std::uint64_t{1} << 40}) {
    LossBackend backend(GetParam(), {.shape = {64, 100, 32}, .private_bytes = private_bytes});
    backend.load(positive_factors(std::vector<std::uint64_t>{64, 100, 32}, 5, 2));

    try {
      backend.pass(chunks, {poisson_given().function, 0});
      FAIL() << "a coordinate outside the tensor was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
      EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("chunk "), ::testing::HasSubstr("mode 1")));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LossPass, LossPassOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

}  // namespace
}  // namespace blco::testing
