// A Tucker model: X is approximately a small core G times a matrix with orthonormal columns in each mode, X ~ G x_1 U_1
// ... x_N U_N (Kolda & Bader 2009, section 4). Cells of X without a nonzero count as zero.
#pragma once

#include <blco/model.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace blco {

// How a mode's matrix U_n is updated from the others', Y being the unfolding of X times these, I_n x K with K the
// product of the other ranks.
//   hooi   the leading left singular vectors of Y, the best for the others (De Lathauwer, De Moor & Vandewalle, On the
//          best rank-1 and rank-(R1, ..., RN) approximation of higher-order tensors, SIMAX 2000). Y is held in memory.
//   hoqri  the orthonormal factor of Y times the transposed unfolding of the core (Sun & Huang, HOQRI: Higher-order QR
//          iteration for scalable Tucker decomposition, ICASSP 2022). Y is made twice, a slab of columns at a time. The
//          fit never falls, but takes more sweeps.
//   automatic  hooi where the memory budget holds Y, else hoqri; with Compute::deterministic always hooi.
enum class TuckerMethod { automatic, hooi, hoqri };

const char* to_string(TuckerMethod method);

struct CoreEntry {
  std::vector<std::uint64_t> index;  // per mode, the column, from 0
  double value = 0;
};

// In a model that fit_tucker returned, the core is all-orthogonal and ordered along each mode that is not held: its
// slices along the mode are orthogonal to each other, and of falling norm (De Lathauwer, De Moor & Vandewalle, A
// multilinear singular value decomposition, SIMAX 2000, theorem 2). The largest number of each column of such a mode is
// positive.
struct TuckerModel : ModelHeader {
  TuckerModel() { method = "hooi"; }

  std::vector<std::uint64_t> ranks;          // per mode
  std::vector<double> core;                  // R_1 x ... x R_N, row-major: the last mode's index varies fastest
  std::vector<std::vector<double>> factors;  // per mode, row-major I_n x R_n with orthonormal columns

  // What the model says of a cell: an index per mode, from 0. Throws Error{invalid_argument} for another number of
  // them, or one outside the shape.
  double value(std::span<const std::uint64_t> cell) const;
  // The `count` entries of the core of largest magnitude, by falling magnitude, then rising place; without zeros.
  std::vector<CoreEntry> top_of_core(std::size_t count) const;
  // Same of a column of a mode's matrix. Throws Error{invalid_argument} for one that the model does not have.
  std::vector<FactorEntry> top(std::size_t mode, std::size_t column, std::size_t count) const;
};

// Saves as HDF5. Replaces `path` only when the new file is complete. Throws as save() of a CpdModel does.
void save(const TuckerModel& model, const std::filesystem::path& path);

// Throws Error: io, invalid_argument (not a Tucker model), corrupt.
TuckerModel load_tucker(const std::filesystem::path& path);

// Per mode, the principal angles between the spaces that the columns of the two models span, in radians and rising, as
// many as the smaller one has columns: 0 where both have a direction in common. Throws Error{invalid_argument} for
// models of other shapes, or other labels where both have them.
std::vector<std::vector<double>> principal_angles(const TuckerModel& first, const TuckerModel& second);

// True if the file is a Tucker model. Never throws.
bool is_tucker(const std::filesystem::path& path) noexcept;

}  // namespace blco
