// A CP model on disk: HDF5, readable with plain h5py.
//
//   attributes  format "blco-model", version, rank, shape, fit, sweeps, seed, precision, stop_reason, mode_names,
//               tensor_nnz, tensor_sum_of_squares
//   /weights f64[R]   /factors/n f64[I_n, R], n from 0   /fit_history f64[sweeps]
//   /modes/n/labels and label_ends, where the mode has labels: as in a container
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "blco/labels.hpp"

namespace blco {

struct ModelFile {
  std::vector<std::uint64_t> shape;
  std::uint64_t rank = 0;
  std::vector<double> weights;               // R
  std::vector<std::vector<double>> factors;  // per mode, row-major I_n x R
  std::vector<double> fit_history;           // fit after each sweep
  std::vector<std::string> mode_names;       // one per mode, or empty
  std::vector<Labels> labels;                // one list per mode, empty or as long as the mode; or empty
  double fit = 0;
  std::uint64_t sweeps = 0;
  std::uint64_t seed = 0;
  std::string precision;  // of the arithmetic: "f64" or "f32"
  std::string stop_reason;
  // Of the tensor that it was fitted to; zero where that is not known.
  std::uint64_t tensor_nnz = 0;
  double tensor_sum_of_squares = 0;
};

// Gives rows of the factor of `mode` from `first_row` on, row-major; `rows` holds whole rows.
using FactorRows = std::function<void(std::size_t mode, std::uint64_t first_row, std::span<double> rows)>;

// Written under a temporary name beside `path`, synced, and renamed when whole. The factors come from `factor_rows` in
// blocks of about a MiB, which is all the memory that this takes; model.factors is not read. Throws Error{io}.
void write_model_file(const std::filesystem::path& path, const ModelFile& model, const FactorRows& factor_rows);
// The same with factors that are in memory; those of `model` unless others are given.
void write_model_file(const std::filesystem::path& path, const ModelFile& model);
void write_model_file(const std::filesystem::path& path, const ModelFile& model,
                      std::span<const std::vector<double>> factors);

// Takes rows of the factor of `mode` from `first_row` on, row-major, whole rows.
using FactorRowsSink = std::function<void(std::size_t mode, std::uint64_t first_row, std::span<const double> rows)>;

// A model file whose factors are read in blocks, with about a MiB of memory.
class ModelFileReader {
 public:
  // Reads and checks all but the numbers of the factors. Throws as read_model_file does.
  explicit ModelFileReader(const std::filesystem::path& path);
  ~ModelFileReader();
  ModelFileReader(const ModelFileReader&) = delete;
  ModelFileReader& operator=(const ModelFileReader&) = delete;

  // Without factors and labels.
  const ModelFile& header() const;
  // As ModelFile has them. Throws Error{corrupt}.
  std::vector<Labels> read_labels() const;
  // Modes in order, rows in order; each is finite.
  void read_factors(const FactorRowsSink& sink) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads a model written by this or by a user's own h5py: only rank, shape, weights and factors must be there. Throws
// Error{io} if it cannot be read, Error{invalid_argument} if it is no model, Error{corrupt} where shapes disagree or a
// number is not finite. Sizes are checked before anything is allocated.
ModelFile read_model_file(const std::filesystem::path& path);

// True if the file is HDF5 with attribute format = "blco-model". Never throws.
bool is_model_file(const std::filesystem::path& path) noexcept;

}  // namespace blco
