// The list of rivals: names, refusals and knobs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/bench/rivals/rival_cases.hpp"

namespace blco::testing {
namespace {

using ::testing::HasSubstr;

TEST(RivalKinds, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const RivalKind kind : every_rival()) names.insert(name_of(kind));

  EXPECT_EQ(names, (std::set<std::string>{"alto", "b-csf", "coo-atomic", "coo-duplicated", "coo-line", "coo-perm",
                                          "coo-single", "csf-all", "csf-one", "fcoo", "hb-csf", "mm-csf"}));
  EXPECT_STREQ(name_of(RivalKind::alto), "alto");
  EXPECT_STREQ(name_of(RivalKind::coo_line), "coo-line");
  EXPECT_STREQ(name_of(RivalKind::fcoo), "fcoo");
  EXPECT_STREQ(name_of(RivalKind::mm_csf), "mm-csf");
}

TEST(RivalKinds, SayWhyTheyAreMissing) {
  const std::vector<std::uint64_t> cube{4, 4, 4};
  const std::vector<std::uint64_t> vector{4};
  const std::vector<std::uint64_t> wide(5, std::uint64_t{1} << 32);
  const std::uint64_t many = std::uint64_t{1} << 32;

  EXPECT_EQ(why_no_rival(RivalKind::coo_line, cube, 10, {}), "");
  EXPECT_EQ(why_no_rival(RivalKind::coo_atomic, wide, 10, {}), "");
  EXPECT_THAT(why_no_rival(RivalKind::coo_line, wide, 10, {}), HasSubstr("128 bits"));
  EXPECT_THAT(why_no_rival(RivalKind::coo_perm, vector, 10, {}), HasSubstr("orders 2 to 8"));
  EXPECT_THAT(why_no_rival(RivalKind::coo_perm, cube, many, {}), HasSubstr("32 bits"));
  EXPECT_THAT(why_no_rival(RivalKind::fcoo, cube, 10, {.precision = Precision::mixed}), HasSubstr("mixed"));
  EXPECT_THAT(why_no_rival(RivalKind::fcoo, cube, 10, {.knobs = {.thread_nonzeros = 0}}), HasSubstr("at least 1"));
  EXPECT_THAT(why_no_rival(RivalKind::coo_single, cube, 10, {.on_device = true}), HasSubstr("CPU"));
}

TEST(RivalKinds, TryThePapersKnobs) {
  EXPECT_EQ(knobs_to_try(RivalKind::coo_perm, true).size(), 1U);
  EXPECT_EQ(knobs_to_try(RivalKind::fcoo, false).size(), 1U);
  std::set<std::pair<int, int>> tried;
  for (const RivalKnobs& knobs : knobs_to_try(RivalKind::fcoo, true)) {
    tried.emplace(knobs.thread_nonzeros, knobs.block_threads);
  }
  EXPECT_EQ(tried.size(), 16U);
  EXPECT_EQ(knobs_to_try(RivalKind::fcoo, true)[0].thread_nonzeros, 16);
}

TEST(RivalKinds, TryThePapersSettings) {
  const auto tried = [](RivalKind kind, bool on_device, auto field) {
    std::set<std::int64_t> values;
    for (const RivalKnobs& knobs : knobs_to_try(kind, on_device))
      values.insert(static_cast<std::int64_t>(knobs.*field));
    return values;
  };
  using Values = std::set<std::int64_t>;

  EXPECT_EQ(tried(RivalKind::b_csf, false, &RivalKnobs::fiber_limit), (Values{0, 128}));
  EXPECT_EQ(tried(RivalKind::mm_csf, false, &RivalKnobs::every_leaf), (Values{0, 1}));
  EXPECT_EQ(tried(RivalKind::mm_csf, true, &RivalKnobs::warps_per_fiber), (Values{1, 2, 4, 8, 16}));
  EXPECT_EQ(tried(RivalKind::hb_csf, true, &RivalKnobs::block_threads), (Values{128, 512}));
  EXPECT_EQ(knobs_to_try(RivalKind::mm_csf, true).size(), 40U);
  EXPECT_EQ(knobs_to_try(RivalKind::csf_all, false).size(), 1U);
}

TEST(RivalKinds, TakeAtMostTheEstimate) {
  // With fibers of one nonzero and of many.
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{300, 400, 500}, {6, 3, 4, 5, 700}}) {
    const NaturalTensor tensor = natural_tensor(random_tensor({.shape = shape, .nnz = 50000, .seed = 2}));
    ThreadExecutor executor(3);
    for (const RivalKind kind : every_rival()) {
      if (!has_rival(kind, tensor)) continue;
      for (const std::uint32_t fiber_limit : {0U, 1U, 128U}) {
        const RivalOptions options{.rank = 17, .knobs = {.fiber_limit = fiber_limit}};

        const RivalStorage storage = make_rival(kind, tensor.view(), options, executor)->storage();

        const std::uint64_t estimate = most_rival_bytes(shape, tensor.coo.nnz(), options.rank, 3);
        EXPECT_LE(storage.index_bytes + storage.value_bytes + storage.auxiliary_bytes, estimate)
            << name_of(kind) << ", limit " << fiber_limit;
      }
    }
  }
}

}  // namespace
}  // namespace blco::testing
