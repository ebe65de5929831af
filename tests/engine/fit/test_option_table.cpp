// The table of options: every row sets its field, ranges and owners are kept, and files keep what they say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/error.hpp>
#include <blco/option_table.hpp>
#include <cmath>
#include <functional>
#include <set>
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

struct FieldCase {
  std::string name;
  OptionValue value;
  std::function<bool(const CpdOptions&)> is_set;
  std::string method = "als";
};

std::vector<FieldCase> field_cases() {
  using Options = const CpdOptions&;
  const auto first_is = [](RowConstraint wanted) {
    return [wanted](Options o) { return !constraints_by(o).empty() && constraints_by(o)[0] == wanted; };
  };
  const ModeChoice first = {.modes = {{"user"}}};
  return {
      {"rank", std::uint64_t{7}, [](Options o) { return o.rank == 7; }},
      {"method", "apr", [](Options o) { return std::holds_alternative<AprMethod>(o.method); }, "apr"},
      {"nonnegative", first, first_is({.set = RowSet::nonnegative})},
      {"simplex", first, first_is({.set = RowSet::simplex})},
      {"box", BoxChoice{1, 2, first}, first_is({.set = RowSet::box, .lower = 1, .upper = 2})},
      {"hold", first, first_is({.set = RowSet::held})},
      {"l1", 0.5, first_is({.l1 = 0.5})},
      {"momentum", false, [](Options o) { return o.momentum == false; }},
      {"ridge", 0.5, [](Options o) { return o.ridge == 0.5; }},
      {"inner", std::uint64_t{3}, [](Options o) { return std::get<AprMethod>(o.method).inner == 3; }, "apr"},
      {"kappa", 0.5, [](Options o) { return std::get<AprMethod>(o.method).kappa == 0.5; }, "apr"},
      {"loss", "poisson", [](Options o) { return std::get<GcpMethod>(o.method).loss.kind == LossKind::poisson; },
       "gcp"},
      {"evaluations", std::uint64_t{3}, [](Options o) { return std::get<GcpMethod>(o.method).evaluations == 3; },
       "gcp"},
      {"learning_rate", 0.5, [](Options o) { return std::get<GcpAdamMethod>(o.method).learning_rate == 0.5; },
       "gcp-adam"},
      {"samples", std::uint64_t{3}, [](Options o) { return std::get<GcpAdamMethod>(o.method).samples == 3; },
       "gcp-adam"},
      {"cg_steps", std::uint64_t{3}, [](Options o) { return std::get<CompletionMethod>(o.method).cg_steps == 3; },
       "complete"},
      {"seed", std::uint64_t{1} << 63, [](Options o) { return o.seed == std::uint64_t{1} << 63; }},
      {"start", "nvecs", [](Options o) { return o.start == Start::nvecs; }},
      {"initial", &any_model, [](Options o) { return o.initial == &any_model; }},
      {"max_sweeps", std::uint64_t{3}, [](Options o) { return o.max_sweeps == 3; }},
      {"tolerance", 0.5, [](Options o) { return o.tolerance == 0.5; }},
      {"time_limit", 0.5, [](Options o) { return o.time_limit_seconds == 0.5; }},
      {"checkpoint", "a.h5", [](Options o) { return o.checkpoint == "a.h5"; }},
      {"every", std::uint64_t{3}, [](Options o) { return o.checkpoint_sweeps == 3; }},
      {"devices", std::vector<std::string>{"cpu"}, [](Options o) { return o.compute.devices.size() == 1; }},
      {"threads", std::uint64_t{3}, [](Options o) { return o.compute.threads == 3; }},
      {"memory", std::uint64_t{1} << 40,
       [](Options o) { return o.compute.memory.host_bytes == std::uint64_t{1} << 40; }},
      {"device_memory", std::uint64_t{3}, [](Options o) { return o.compute.memory.device_bytes == 3; }},
      {"precision", "mixed", [](Options o) { return o.compute.precision == Precision::mixed; }},
      {"deterministic", true, [](Options o) { return o.compute.deterministic; }},
      {"trace", "a.json", [](Options o) { return o.compute.trace == "a.json"; }},
  };
}

TEST(OptionTable, SetsTheFieldOfEachOption) {
  // The two that take a file of their own: a test of Checkpoint and one of HeldOut.
  std::set<std::string> names = {"resume", "validate"};
  for (const FieldCase& one : field_cases()) {
    names.insert(one.name);

    const CpdOptions without = set_given({{"method", "als"}});
    const CpdOptions with = set_given({{one.name, one.value}, {"method", one.method}});

    EXPECT_TRUE(one.method != "als" || !one.is_set(without)) << one.name;
    EXPECT_TRUE(one.is_set(with)) << one.name;
  }
  std::set<std::string> in_table;
  for (const Option<CpdOptions>& row : cpd_option_table()) in_table.insert(row.name);
  EXPECT_EQ(names, in_table);
}

TEST(OptionTable, ReadsBackWhatItSets) {
  for (const FieldCase& one : field_cases()) {
    const Option<CpdOptions>& row = *find_option(cpd_option_table(), one.name);
    if (!row.get) continue;

    EXPECT_EQ(row.get(set_given({{"method", one.method}, {one.name, one.value}})), one.value) << one.name;
  }
}

TEST(OptionTable, RefusesNumbersOutOfRangeAndWordsThatItDoesNotHave) {
  EXPECT_EQ(refusal_of_given({{"max_sweeps", std::uint64_t{0}}}), "`max_sweeps` must be at least 1");
  EXPECT_EQ(refusal_of_given({{"max_sweeps", std::uint64_t{1} << 40}}), "`max_sweeps` must be at most 2147483647");
  EXPECT_EQ(refusal_of_given({{"every", -3.0}}), "`checkpoint_sweeps` must be at least 1");
  EXPECT_EQ(refusal_of_given({{"ridge", -0.5}}), "`ridge` must be at least 0");
  EXPECT_EQ(refusal_of_given({{"tolerance", std::nan("")}}), "`tolerance` must be at least 0");
  EXPECT_EQ(refusal_of_given({{"l1", -1.0}}), "`l1` must be above 0");
  EXPECT_EQ(refusal_of_given({{"method", "gcp-adam"}, {"samples", std::uint64_t{1} << 25}}),
            "`samples` must be at most 16777216");
  EXPECT_EQ(refusal_of_given({{"start", "svd"}}), "`start`: 'svd' is none of auto, uniform, centered, normal, nvecs");
  EXPECT_EQ(refusal_of_given({{"sweeps", std::uint64_t{3}}}), "there is no option 'sweeps'");
}

TEST(OptionTable, TakesDefaultsThatSayThatTheFitFindsAValue) {
  EXPECT_EQ(set_given({{"ridge", -1.0}, {"time_limit", 0.0}, {"threads", std::uint64_t{0}}}).ridge, automatic_ridge);
}

TEST(OptionTable, SaysToWhichMethodsAnOptionBelongs) {
  EXPECT_EQ(refusal_of_given({{"inner", std::uint64_t{3}}}), "`inner` belongs to `method = apr`, not to als");
  EXPECT_EQ(refusal_of_given({{"method", "apr"}, {"loss", "gamma"}}),
            "`loss` belongs to `method = gcp` and `method = gcp-adam`, not to apr");
  EXPECT_EQ(refusal_of_given({{"method", "apr"}, {"nonnegative", ModeChoice{.all = true}}}),
            "`nonnegative` does not go with `method = apr`, whose factors are never negative; leave it out");
}

TEST(OptionTable, GivesEachModeOneConstraint) {
  const ModeChoice all = {.all = true};
  const RowConstraint held = {.set = RowSet::held};
  const RowConstraint nonnegative = {.set = RowSet::nonnegative};
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
    EXPECT_FALSE(row.help.empty() || row.help.ends_with('.')) << row.name;
    EXPECT_TRUE(row.name == "rank" || !row.group.empty()) << row.name;
    EXPECT_EQ(row.kind == OptionKind::choice, !row.choices.empty()) << row.name;
  }
}

}  // namespace
}  // namespace blco
