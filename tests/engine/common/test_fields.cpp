// The tables of fields: each has all members of its report but those that the comment on it names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/fields.hpp>
#include <blco/plan.hpp>
#include <blco/starts.hpp>
#include <blco/sweep.hpp>
#include <blco/tucker.hpp>
#include <string>
#include <utility>
#include <vector>

namespace blco {
namespace {

template <class Report>
constexpr std::size_t field_count = std::tuple_size_v<std::remove_const_t<decltype(fields_of<Report>)>>;

// A new member of one of these does not compile here before it is counted.
TEST(Fields, AreAllMembersOfAReport) {
  {
    [[maybe_unused]] const auto& [a, b] = ModeRead();
    EXPECT_EQ(field_count<ModeRead>, 2);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a2, b2,
                                  c2] = CpdPlan();
    EXPECT_EQ(field_count<CpdPlan>, 29);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, but_plan] = TuckerPlan();
    EXPECT_EQ(field_count<TuckerPlan>, 3);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e] = HeldOutReport();
    EXPECT_EQ(field_count<HeldOutReport>, 5);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, but_converged, but_cut_short] =
        SweepReport();
    EXPECT_EQ(field_count<SweepReport>, 14);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = StartReport();
    EXPECT_EQ(field_count<StartReport>, 15);
  }
  {
    [[maybe_unused]] const auto& [a, b, c, d, but_starts] = StartsSummary();
    EXPECT_EQ(field_count<StartsSummary>, 4);
  }
}

TEST(Fields, AreVisitedByNameInTheirOrder) {
  std::vector<std::pair<std::string, double>> visited;

  for_each_field(HeldOutReport{.entries = 7, .cold_entries = 2, .model_error = 0.5, .mean_error = 3},
                 [&](const char* name, auto value) { visited.emplace_back(name, static_cast<double>(value)); });

  EXPECT_THAT(visited, testing::ElementsAre(testing::Pair("entries", 7), testing::Pair("cold_entries", 2),
                                            testing::Pair("model_error", 0.5), testing::Pair("mean_error", 3),
                                            testing::Pair("mode_means_error", 0)));
}

}  // namespace
}  // namespace blco
