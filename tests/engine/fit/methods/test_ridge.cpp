// Fits with a ridge, against alternating least squares written out over all cells of a small tensor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/cpd.hpp>
#include <blco/memory_tensor.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using RowMajor = std::vector<double>;

constexpr std::size_t ridge_rank = 3;

// A tensor of 6 x 5 x 4 with every cell listed.
struct FullTensor {
  std::vector<std::uint64_t> shape = {6, 5, 4};
  std::vector<std::vector<std::uint32_t>> coordinates = {{}, {}, {}};
  std::vector<double> values;

  FullTensor() {
    for (std::uint32_t i = 0; i < 6; ++i) {
      for (std::uint32_t j = 0; j < 5; ++j) {
        for (std::uint32_t k = 0; k < 4; ++k) {
          coordinates[0].push_back(i);
          coordinates[1].push_back(j);
          coordinates[2].push_back(k);
          values.push_back(1 + (7 * i + 11 * j + 13 * k + i * j * k) % 9);
        }
      }
    }
  }
};

CpdModel initial_of(const FullTensor& tensor) {
  CpdModel model;
  model.shape = tensor.shape;
  model.rank = ridge_rank;
  model.weights.assign(ridge_rank, 1.0);
  for (std::size_t n = 0; n < 3; ++n) {
    for (std::size_t i = 0; i < tensor.shape[n] * ridge_rank; ++i) {
      model.factors.push_back({});
      model.factors.resize(n + 1);
      model.factors[n].push_back(static_cast<double>((i * i * 5 + 3 * i + n) % 17 + 1) / 17);
    }
  }
  return model;
}

// Solves x A = b for one row, A symmetric, by elimination.
std::vector<double> eliminate(RowMajor a, std::vector<double> b) {
  for (std::size_t p = 0; p < ridge_rank; ++p) {
    for (std::size_t q = p + 1; q < ridge_rank; ++q) {
      const double factor = a[q * ridge_rank + p] / a[p * ridge_rank + p];
      for (std::size_t r = p; r < ridge_rank; ++r) a[q * ridge_rank + r] -= factor * a[p * ridge_rank + r];
      b[q] -= factor * b[p];
    }
  }
  for (std::size_t p = ridge_rank; p-- > 0;) {
    for (std::size_t q = p + 1; q < ridge_rank; ++q) b[p] -= a[p * ridge_rank + q] * b[q];
    b[p] /= a[p * ridge_rank + p];
  }
  return b;
}

double model_at(const CpdModel& model, const FullTensor& tensor, std::size_t entry) {
  double sum = 0;
  for (std::size_t r = 0; r < ridge_rank; ++r) {
    double product = model.weights[r];
    for (std::size_t n = 0; n < 3; ++n) product *= model.factors[n][tensor.coordinates[n][entry] * ridge_rank + r];
    sum += product;
  }
  return sum;
}

// One row at a time: the normal equations of all cells in the row's slice, the ridge on the diagonal.
void sweep_once(CpdModel& model, const FullTensor& tensor, double ridge) {
  for (std::size_t n = 0; n < 3; ++n) {
    RowMajor rows(tensor.shape[n] * ridge_rank);
    for (std::size_t i = 0; i < tensor.shape[n]; ++i) {
      RowMajor system(ridge_rank * ridge_rank);
      std::vector<double> right(ridge_rank);
      for (std::size_t r = 0; r < ridge_rank; ++r) system[r * ridge_rank + r] = ridge;
      for (std::size_t e = 0; e < tensor.values.size(); ++e) {
        if (tensor.coordinates[n][e] != i) continue;
        std::vector<double> product(ridge_rank, 1.0);
        for (std::size_t m = 0; m < 3; ++m) {
          for (std::size_t r = 0; r < ridge_rank && m != n; ++r) {
            product[r] *= model.factors[m][tensor.coordinates[m][e] * ridge_rank + r];
          }
        }
        for (std::size_t r = 0; r < ridge_rank; ++r) {
          right[r] += tensor.values[e] * product[r];
          for (std::size_t s = 0; s < ridge_rank; ++s) system[r * ridge_rank + s] += product[r] * product[s];
        }
      }
      const std::vector<double> row = eliminate(system, right);
      std::copy(row.begin(), row.end(), rows.begin() + static_cast<std::ptrdiff_t>(i * ridge_rank));
    }
    for (std::size_t r = 0; r < ridge_rank; ++r) {
      double squares = 0;
      for (std::size_t i = r; i < rows.size(); i += ridge_rank) squares += rows[i] * rows[i];
      model.weights[r] = std::sqrt(squares);
      for (std::size_t i = r; i < rows.size(); i += ridge_rank) rows[i] /= model.weights[r];
    }
    model.factors[n] = rows;
  }
}

double objective_of(const CpdModel& model, const FullTensor& tensor, double ridge) {
  double sum = 0;
  for (std::size_t e = 0; e < tensor.values.size(); ++e) {
    sum += std::pow(tensor.values[e] - model_at(model, tensor, e), 2);
  }
  for (const double weight : model.weights) sum += ridge * weight * weight;
  return sum;
}

TEST(Ridge, GivesTheNumbersOfNormalEquationsOverAllCells) {
  const FullTensor full;
  const MemoryTensor tensor({{full.coordinates[0], full.coordinates[1], full.coordinates[2]}, full.values});
  const CpdModel initial = initial_of(full);
  for (const double ridge : {0.0, 0.25, 40.0}) {
    CpdModel expected = initial;
    for (int sweep = 0; sweep < 5; ++sweep) sweep_once(expected, full, ridge);

    CpdOptions options{
        .rank = ridge_rank, .max_sweeps = 5, .tolerance = 0, .ridge = ridge, .momentum = false, .initial = &initial};
    const CpdModel model = fit_cpd(tensor, options);

    EXPECT_EQ(model.ridge, ridge);
    for (std::size_t e = 0; e < full.values.size(); ++e) {
      EXPECT_NEAR(model_at(model, full, e), model_at(expected, full, e), 1e-9) << "ridge " << ridge;
    }
  }
}

TEST(Ridge, LowersItsObjectiveInEverySweep) {
  const FullTensor full;
  const MemoryTensor tensor({{full.coordinates[0], full.coordinates[1], full.coordinates[2]}, full.values});
  const CpdModel initial = initial_of(full);
  double before = std::numeric_limits<double>::infinity();  // initial columns are not of norm 1, as the objective asks
  for (int sweeps = 1; sweeps <= 8; ++sweeps) {
    const CpdModel model =
        fit_cpd(tensor, {.rank = ridge_rank, .max_sweeps = sweeps, .tolerance = 0, .ridge = 40, .initial = &initial});

    const double objective = objective_of(model, full, 40);

    EXPECT_LE(objective, before * (1 + 1e-12));
    before = objective;
  }
}

TEST(Ridge, IsKeptInTheModelAndAskedForByAResume) {
  const TemporaryFolder folder;
  const FullTensor full;
  const MemoryTensor tensor({{full.coordinates[0], full.coordinates[1], full.coordinates[2]}, full.values});
  save(fit_cpd(tensor, {.rank = 2, .max_sweeps = 3, .tolerance = 0, .ridge = 2.5}), folder / "model.h5");
  CpdOptions resumed{.rank = 2, .max_sweeps = 5, .tolerance = 0, .resume = folder / "model.h5"};

  EXPECT_EQ(load_model(folder / "model.h5").ridge, 2.5);
  try {
    fit_cpd(tensor, resumed);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("`ridge = 2.5`"));
  }
  resumed.ridge = 2.5;
  EXPECT_EQ(fit_cpd(tensor, resumed).fit_history.size(), 5);
}

}  // namespace
}  // namespace blco
