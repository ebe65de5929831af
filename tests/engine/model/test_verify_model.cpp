// Models that break a promise of their format.
#include <gtest/gtest.h>

#include <blco/model.hpp>
#include <cmath>
#include <functional>
#include <string>

#include "tests/io/expect_error.hpp"

namespace blco::tests {
namespace {

CpdModel normalised_model() {
  CpdModel model;
  model.shape = {3, 2};
  model.rank = 2;
  model.weights = {2.5, 0};
  model.factors = {{0.6, 0, 0.8, 0, 0, 0}, {1, 0, 0, 1}};
  model.fit_history = {0.5, 1.0};
  return model;
}

TEST(VerifyModel, AcceptsColumnsOfNormOneAndZero) { verify(normalised_model()); }

TEST(VerifyModel, RefusesWhatIsNoModel) {
  const auto refused = [](const std::string& words, const std::function<void(CpdModel&)>& bend) {
    CpdModel model = normalised_model();
    bend(model);
    expect_error(ErrorKind::corrupt, words, [&] { verify(model); });
  };
  refused("column 0 of factor 0 has the norm 0.80", [](CpdModel& model) { model.factors[0][0] = 0; });
  refused("row 2 in column 1 of factor 0 is not finite", [](CpdModel& model) { model.factors[0][5] = NAN; });
  refused("weight 1 is not finite", [](CpdModel& model) { model.weights[1] = INFINITY; });
  refused("the fit after sweep 2 is 1.00", [](CpdModel& model) { model.fit_history[1] = 1.0001; });
  refused("the fit after sweep 1 is nan", [](CpdModel& model) { model.fit_history[0] = NAN; });
  refused("the size of factor 1 is not the length of its mode times the rank",
          [](CpdModel& model) { model.factors[1].push_back(0); });
  refused("one weight per component", [](CpdModel& model) { model.weights.pop_back(); });
  refused("one factor per mode", [](CpdModel& model) { model.factors.pop_back(); });
}

}  // namespace
}  // namespace blco::tests
