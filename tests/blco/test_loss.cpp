// Names of losses: what is read and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "blco/loss.hpp"

namespace blco {
namespace {

TEST(LossName, IsReadAndWritten) {
  EXPECT_EQ(parse_loss("gaussian"), (Loss{LossKind::gaussian, 0}));
  EXPECT_EQ(parse_loss("poisson-log"), (Loss{LossKind::poisson_log, 0}));
  EXPECT_EQ(parse_loss("bernoulli-logit"), (Loss{LossKind::bernoulli_logit, 0}));
  EXPECT_EQ(parse_loss("huber:0.25"), (Loss{LossKind::huber, 0.25}));
  EXPECT_EQ(parse_loss("beta:-1.5"), (Loss{LossKind::beta, -1.5}));
  EXPECT_EQ(to_string({LossKind::rayleigh, 0}), "rayleigh");
  EXPECT_EQ(to_string({LossKind::huber, 0.1}), "huber:0.1");
}

TEST(LossName, IsRefusedWithoutItsParameterOrWithAnother) {
  for (const char* name : {"", "Gaussian", "gauss", "poisson:1", "poisson:", "huber", "huber:", "huber:0", "huber:-1",
                           "huber:nan", "huber:inf", "huber:1x", "huber: 1", "beta:0", "beta:1", "beta", ":1"}) {
    EXPECT_FALSE(parse_loss(name).has_value()) << name;
  }
}

TEST(LossName, SaysWhichParametersItTakes) {
  EXPECT_EQ(loss_parameter_ranges(), "D is above 0, B is neither 0 nor 1");
  EXPECT_TRUE(is_valid({LossKind::huber, 0.5}));
  EXPECT_TRUE(is_valid({LossKind::beta, -1}));
  EXPECT_TRUE(is_valid({LossKind::poisson, 7}));  // unused
  EXPECT_FALSE(is_valid({LossKind::huber, 0}));
  EXPECT_FALSE(is_valid({LossKind::beta, 1}));
  EXPECT_FALSE(is_valid({LossKind::beta, std::numeric_limits<double>::infinity()}));
}

TEST(LossName, OfEveryLossIsListed) {
  EXPECT_THAT(loss_names(), testing::ElementsAre("gaussian", "poisson", "poisson-log", "bernoulli-odds",
                                                 "bernoulli-logit", "gamma", "rayleigh", "huber:D", "beta:B"));
}

}  // namespace
}  // namespace blco
