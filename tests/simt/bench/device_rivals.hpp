// Rivals on the emulated device, or on a real one, against a loop over coordinates.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/bench/rivals/rival_cases.hpp"
#include "tests/bench/rivals/rival_families.hpp"

namespace blco::testing {

inline constexpr RivalKind device_kinds[] = {RivalKind::coo_atomic, RivalKind::coo_line, RivalKind::coo_perm,
                                             RivalKind::fcoo,       RivalKind::csf_one,  RivalKind::csf_all,
                                             RivalKind::b_csf,      RivalKind::hb_csf,   RivalKind::mm_csf};

// Factors of a tensor, and the MTTKRP of every mode by its definition.
struct DeviceRivalCase {
  DeviceRivalCase(CooTensor from, int columns)
      : tensor(natural_tensor(from)), rank(columns), factors(random_factors(from.shape, columns, 11)) {
    for (std::size_t mode = 0; mode < tensor.coo.order(); ++mode) {
      expected.push_back(coordinate_mttkrp(tensor.coo, factors, rank, mode));
    }
  }

  NaturalTensor tensor;
  int rank;
  std::vector<std::vector<double>> factors;
  std::vector<ExpectedRows> expected;
};

inline std::unique_ptr<Rival> device_rival(RivalKind kind, const NaturalTensor& tensor, int rank,
                                           Precision precision = Precision::f64, const RivalKnobs& knobs = {}) {
  ThreadExecutor executor(1);
  return make_device_rival(kind, tensor.view(),
                           {.rank = rank, .precision = precision, .on_device = true, .knobs = knobs}, executor);
}

// Every mode, one after the other, on one rival.
inline void expect_device_rows(RivalKind kind, const DeviceRivalCase& given, Precision precision,
                               const RivalKnobs& knobs = {}) {
  const auto rival = device_rival(kind, given.tensor, given.rank, precision, knobs);
  for (std::size_t n = 0; n < given.factors.size(); ++n) rival->load_factor(static_cast<int>(n), given.factors[n]);
  for (std::size_t mode = 0; mode < given.expected.size(); ++mode) {
    std::vector<double> rows(given.expected[mode].rows.size());
    rival->mttkrp(static_cast<int>(mode));
    rival->read_output(rows);
    EXPECT_THAT(rows, RowsNear(given.expected[mode], precision == Precision::f64 ? 1e-12 : 1e-5))
        << name_of(kind) << ", order " << given.expected.size() << ", rank " << given.rank << ", mode " << mode;
  }
}

inline void expect_every_kind(const DeviceRivalCase& given, Precision precision, const RivalKnobs& knobs = {}) {
  for (const RivalKind kind : device_kinds) expect_device_rows(kind, given, precision, knobs);
}

}  // namespace blco::testing
