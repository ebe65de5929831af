// The table of options: every row sets its field, ranges and owners are kept, and files keep what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/error.hpp>
#include <blco/option_table.hpp>
#include <cmath>
#include <string>
#include <vector>

namespace blco {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TensorSummary named_modes() {
  TensorSummary summary;
  summary.shape = {4, 3, 2};
  summary.mode_names = {"user", "0", "day"};
  summary.nnz = 20;
  return summary;
}

CpdOptions set_given(const std::vector<GivenOption>& given) {
  CpdOptions options;
  set_options(options, given, named_modes());
  return options;
}

std::string refusal_of_given(const std::vector<GivenOption>& given) {
  try {
    set_given(given);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "accepted";
}

const std::vector<RowConstraint>& constraints_by(const CpdOptions& options) {
  return std::get<AlsMethod>(options.method).constraints;
}

const CpdModel any_model;

// A value that the row takes and that is not `usual`.
OptionValue other_value(const OptionRow& row, const OptionValue& usual) {
  switch (row.kind) {
    case OptionKind::flag:
    case OptionKind::on_off:
      return usual != OptionValue(true);
    case OptionKind::whole:
    case OptionKind::bytes:
      return std::max(row.least, std::holds_alternative<std::uint64_t>(usual) ? std::get<std::uint64_t>(usual) : 0) + 1;
    case OptionKind::real:
    case OptionKind::seconds:
      return static_cast<double>(row.least) + 0.375;
    case OptionKind::choice:
      return row.choices.back();
    case OptionKind::loss:
      return "poisson";
    case OptionKind::words:
      return std::vector<std::string>{"cpu"};
    case OptionKind::model:
      return &any_model;
    default:
      return "a.h5";
  }
}

TEST(OptionTable, SetsTheFieldOfEachOptionAndNoOther) {
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    // The constraints are below. The two that read a file: a test of Checkpoint and one of HeldOut.
    if (!row.get || row.name == "resume" || row.name == "validate") continue;
    std::vector<GivenOption> given;
    if (!row.methods.empty()) given.push_back({"method", row.methods.front()});
    const CpdOptions usual = set_given(given);
    const OptionValue value = other_value(row, row.get(usual));
    ASSERT_NE(value, row.get(usual)) << row.name;

    given.insert(given.begin(), GivenOption{row.name, value});
    const CpdOptions with = set_given(given);

    for (const Option<CpdOptions>& other : cpd_option_table()) {
      if (!other.get) continue;
      EXPECT_EQ(other.get(with), other.name == row.name ? value : other.get(usual)) << row.name << ", " << other.name;
    }
  }
}

TEST(OptionTable, SetsTheFieldsOfWords) {
  const CpdOptions with = set_given({{"method", "gcp"}, {"loss", "huber:0.25"}, {"precision", "mixed"}});

  EXPECT_EQ(std::get<GcpMethod>(with.method).loss, (Loss{LossKind::huber, 0.25}));
  EXPECT_EQ(with.compute.precision, Precision::mixed);
  EXPECT_EQ(set_given({{"start", "nvecs"}}).start, Start::nvecs);
}

TEST(OptionTable, RefusesNumbersOutOfRangeAndWordsThatItDoesNotHave) {
  EXPECT_EQ(refusal_of_given({{"max_sweeps", std::uint64_t{0}}}), "`max_sweeps` must be at least 1");
  EXPECT_EQ(refusal_of_given({{"max_sweeps", std::uint64_t{1} << 40}}), "`max_sweeps` must be at most 2147483647");
  EXPECT_EQ(refusal_of_given({{"every", -3.0}}), "`checkpoint_sweeps` must be at least 1");
  EXPECT_EQ(refusal_of_given({{"ridge", -0.5}}), "`ridge` must be at least 0");
  EXPECT_EQ(refusal_of_given({{"tolerance", std::nan("")}}), "`tolerance` must be a finite number");
  EXPECT_EQ(refusal_of_given({{"l1", -1.0}}), "`l1` must be at least 0");
  EXPECT_EQ(refusal_of_given({{"method", "gcp-adam"}, {"learning_rate", 0.0}}), "`learning_rate` must be above 0");
  EXPECT_EQ(refusal_of_given({{"method", "gcp-adam"}, {"samples", std::uint64_t{1} << 25}}),
            "`samples` must be at most 16777216");
  EXPECT_EQ(refusal_of_given({{"start", "svd"}}), "`start`: 'svd' is none of auto, uniform, centered, normal, nvecs");
  EXPECT_EQ(refusal_of_given({{"sweeps", std::uint64_t{3}}}), "there is no option 'sweeps'");
  EXPECT_THAT(refusal_of_given({{"loss", "hinge"}}), testing::StartsWith("`loss`: 'hinge' is none of gaussian, "));
}

TEST(OptionTable, RefusesValuesOfAnotherKind) {
  EXPECT_EQ(refusal_of_given({{"every", 3.0}}), "`every` takes a whole number, in std::uint64_t");
  EXPECT_EQ(refusal_of_given({{"ridge", std::uint64_t{1}}}), "`ridge` takes a number, in double");
  EXPECT_EQ(refusal_of_given({{"method", 2.0}}), "`method` takes a text");
  EXPECT_EQ(refusal_of_given({{"hold", "user"}}), "`hold` takes modes");
}

// What asks for nothing goes with every method.
TEST(OptionTable, LetsValuesThroughThatAskForNothing) {
  EXPECT_EQ(refusal_of_given({{"method", "apr"},
                              {"ridge", 0.0},
                              {"l1", 0.0},
                              {"momentum", false},
                              {"simplex", ModeChoice()},
                              {"nonnegative", ModeChoice()}}),
            "accepted");
  EXPECT_THAT(
      refusal_of_given({{"method", "apr"}, {"kappa", 0.5}, {"ridge", 0.5}}),
      testing::StartsWith("`ridge` belongs to `method = als` and `method = complete`, not to apr; leave it out"));
}

TEST(OptionTable, TakesDefaultsThatSayThatTheFitFindsAValue) {
  EXPECT_EQ(set_given({{"ridge", -1.0}, {"time_limit", 0.0}, {"threads", std::uint64_t{0}}}).ridge, automatic_ridge);
}

TEST(OptionTable, SaysToWhichMethodsAnOptionBelongs) {
  EXPECT_EQ(refusal_of_given({{"inner", std::uint64_t{3}}}),
            "`inner` belongs to `method = apr`, not to als; leave it out, or use another method");
  EXPECT_EQ(
      refusal_of_given({{"method", "apr"}, {"loss", "gamma"}}),
      "`loss` belongs to `method = gcp` and `method = gcp-adam`, not to apr; leave it out, or use another method");
  EXPECT_EQ(refusal_of_given({{"method", "apr"}, {"nonnegative", ModeChoice{.all = true}}}),
            "`nonnegative` does not go with `method = apr`, whose factors are never negative; leave it out");
}

TEST(OptionTable, GivesEachModeOneConstraint) {
  const ModeChoice all = {.all = true};
  const RowConstraint held = {.set = RowSet::held};
  const RowConstraint nonnegative = {.set = RowSet::nonnegative};
  const RowConstraint shares = {.set = RowSet::simplex};
  const RowConstraint box = {.set = RowSet::box, .lower = 1, .upper = 2};
  const RowConstraint sparse = {.set = RowSet::nonnegative, .l1 = 0.5};

  // Given in any order, `hold` comes first, and "all" means those that are not held. A word may be a name or a number.
  EXPECT_THAT(constraints_by(set_given({{"nonnegative", all}, {"hold", ModeChoice{.modes = {{"day"}}}}})),
              ElementsAre(nonnegative, nonnegative, held));
  EXPECT_THAT(constraints_by(set_given({{"hold", ModeChoice{.modes = {{"0"}}}}})),
              ElementsAre(RowConstraint{}, held, RowConstraint{}));
  EXPECT_THAT(constraints_by(set_given({{"hold", ModeChoice{.modes = {{"0", true}}}}})),
              ElementsAre(held, RowConstraint{}, RowConstraint{}));
  EXPECT_THAT(constraints_by(set_given({{"l1", 0.5}, {"nonnegative", all}, {"hold", ModeChoice{.modes = {{"2"}}}}})),
              ElementsAre(sparse, sparse, held));
  EXPECT_THAT(constraints_by(set_given({{"simplex", all}})), ElementsAre(shares, shares, shares));
  EXPECT_THAT(constraints_by(set_given({{"box", BoxChoice{1, 2, all}}})), ElementsAre(box, box, box));
  EXPECT_EQ(refusal_of_given({{"simplex", all}, {"nonnegative", ModeChoice{.modes = {{"0"}}}}}),
            "`simplex`: mode 1 has another constraint already; give each mode one of `hold`, `nonnegative`, `box` and "
            "`simplex`");
  EXPECT_THAT(refusal_of_given({{"simplex", ModeChoice{.modes = {{"week"}}}}}),
              testing::HasSubstr("'week' is not a mode"));
}

TEST(OptionTable, KeepsTheNumbersOfAMethodThatAreNotTheDefaults) {
  const CpdOptions apr = set_given({{"method", "apr"}, {"inner", std::uint64_t{3}}, {"kappa", 0.125}});
  CpdOptions back = set_given({{"method", "apr"}});

  take_kept(kept_options(apr), "a.h5", back);

  EXPECT_THAT(kept_options(apr), ElementsAre("inner=3", "kappa=0.125"));
  EXPECT_EQ(std::get<AprMethod>(back.method).inner, 3);
  EXPECT_EQ(std::get<AprMethod>(back.method).kappa, 0.125);
  EXPECT_THAT(kept_options(set_given({{"method", "complete"}, {"cg_steps", std::uint64_t{2}}})), IsEmpty());
}

TEST(OptionTable, PassesOverWhatItDoesNotKnowInAFileAndRefusesDamage) {
  CpdOptions apr = set_given({{"method", "apr"}});
  take_kept({"of_a_later_version=1", "rank=9", "cg_steps=7"}, "a.h5", apr);
  EXPECT_EQ(apr.rank, CpdOptions().rank);

  for (const char* text :
       {"inner", "inner=", "inner=3x", "inner=0", "inner=2.5", "inner=1e300", "kappa=-1", "kappa=nan"}) {
    try {
      take_kept({text}, "a.h5", apr);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt);
      EXPECT_THAT(error.what(), testing::HasSubstr(std::string("a.h5: a text of the attribute options is '") + text));
    }
  }
}

TEST(OptionTable, HasRowsThatPeopleCanRead) {
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    EXPECT_FALSE(row.help.empty() || row.help.ends_with('.') || row.syntax.ends_with('.')) << row.name;
    EXPECT_TRUE(row.name == "rank" || !row.group.empty()) << row.name;
    // Programs have flags; the library names options.
    EXPECT_EQ((row.group + row.help + row.syntax + row.usual).find("--"), std::string::npos) << row.name;
    EXPECT_EQ(row.kind == OptionKind::choice, !row.choices.empty()) << row.name;
  }
}

}  // namespace
}  // namespace blco
