// A CP model: X is approximately sum_r weights[r] * a_0r o a_1r o ... (Kolda & Bader 2009, section 3). Cells of X
// without a nonzero count as zero.
#pragma once

#include <blco/error.hpp>
#include <blco/model_header.hpp>
#include <blco/views.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace blco {

struct FactorEntry {
  std::uint64_t row = 0;  // the index, from 0
  double value = 0;
};

struct CpdModel : ModelHeader {
  int rank = 0;
  std::vector<double> weights;  // R; falling in a model that fit_cpd returned
  // Per mode, row-major I_n x R; columns have 2-norm 1 (or 0), unless the mode's constraint forbids to scale them.
  std::vector<std::vector<double>> factors;

  // What the model says of a cell: an index per mode, from 0. Throws Error{invalid_argument} for another number of
  // them, or one outside the shape.
  double value(std::span<const std::uint64_t> cell) const;
  // The `count` entries of largest magnitude in a component's column of a mode, by falling magnitude, then rising row;
  // zeros are left out. Throws Error{invalid_argument} for a component or a mode that the model does not have.
  std::vector<FactorEntry> top(std::size_t component, std::size_t mode, std::size_t count) const;

  // The factors as mttkrp() and evaluate() take them; they must not change meanwhile. The weights are not in them.
  std::vector<MatrixView> matrices() const;
};

// Saves as HDF5, readable with plain h5py. Replaces `path` only when the new file is complete. Throws Error: io, also
// if another job is writing the file; invalid_argument for sizes that disagree, or numbers that are not finite.
void save(const CpdModel& model, const std::filesystem::path& path);

// Loads a saved model. Throws Error: io, invalid_argument (not a model), corrupt.
CpdModel load_model(const std::filesystem::path& path);

// Checks a model: shapes that agree, finite numbers, columns of 2-norm 1 (within 1e-5) or 0, a fit of at most 1 after
// every sweep. Throws Error{corrupt} naming the number.
void verify(const CpdModel& model);

// True if the file is a model, as opposed to a tensor. Never throws.
bool is_model(const std::filesystem::path& path) noexcept;

}  // namespace blco
