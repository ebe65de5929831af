// Steps of backends that own a part of the rows, beside a backend of the same kind that owns all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "blco/error.hpp"
#include "tests/kernels/owner_cases.hpp"

namespace blco::testing {
namespace {

class OwnedRowsOf : public ::testing::TestWithParam<BackendCase> {
 protected:
  std::unique_ptr<Backend> make(const BackendConfig& config) {
    return GetParam().threads == 0 ? make_reference_backend(config) : host_kind().make(config, executor_);
  }
  SharedMode shared(const std::vector<OwnedRows>& split, int rank, bool keep_previous = false) {
    const auto make_owner = [&, rank, keep_previous] {
      BackendConfig config = owned_config(rank, GetParam().precision);
      config.keep_previous = keep_previous;
      return make(config);
    };
    return {make_owner, split, rank};
  }

  ThreadExecutor executor_{std::max(GetParam().threads, 1)};
};

TEST_P(OwnedRowsOf, AreUpdatedByTheirOwnersAlone) {
  for (const auto& split : owned_splits) {
    for (const int rank : {1, 3, 17}) {
      SharedMode mode = shared(split, rank);
      expect_updates_of_owners(mode, rank, GetParam().precision == Precision::f64 ? 1e-13 : 1e-6, 0);
    }
  }
}

TEST_P(OwnedRowsOf, TakeTheStepsOfMethods) {
  for (const auto& split : owned_splits) {
    for (const int rank : {1, 3, 17}) {
      SharedMode mode = shared(split, rank);
      expect_steps_of_owners(mode, rank, 0);
    }
  }
}

TEST_P(OwnedRowsOf, AreTakenBack) {
  for (const auto& split : owned_splits) {
    SharedMode mode = shared(split, 3, /*keep_previous=*/true);
    expect_undone_updates_of_owners(mode, 3);
  }
}

TEST_P(OwnedRowsOf, GoInAndOutOneByOne) {
  for (const int rank : {1, 3, 17}) expect_scattered_rows(*make(owned_config(rank, GetParam().precision)), rank);
}

TEST_P(OwnedRowsOf, LieWithinTheirModes) {
  const std::vector<std::vector<OwnedRows>> wrong{{{0, 210}}, {{0, 211}, {0, 40}}, {{128, 64}, {0, 40}}};
  const std::unique_ptr<Backend> backend = make(owned_config(2, GetParam().precision));
  for (const auto& owned : wrong) {
    try {
      backend->own(owned);
      FAIL() << owned[0].begin << " to " << owned[0].end << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
      EXPECT_THAT(error.what(), ::testing::HasSubstr(owned.size() == 1 ? "of every mode" : "mode 0 has 210 rows here"));
    }
  }
  backend->own({{64, 210}, {40, 40}});
}

INSTANTIATE_TEST_SUITE_P(OwnedRows, OwnedRowsOf, ::testing::ValuesIn(every_backend()),
                         [](const auto& which) { return which.param.name(); });

}  // namespace
}  // namespace blco::testing
