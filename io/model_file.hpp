// A CP model on disk: HDF5, readable with plain h5py.
//
//   attributes  format "blco-model", version, rank, shape, fit, sweeps, seed, stop_reason, mode_names
//   /weights f64[R]   /factors/n f64[I_n, R], n from 0   /fit_history f64[sweeps]
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace blco {

struct ModelFile {
  std::vector<std::uint64_t> shape;
  std::uint64_t rank = 0;
  std::vector<double> weights;               // R
  std::vector<std::vector<double>> factors;  // per mode, row-major I_n x R
  std::vector<double> fit_history;           // fit after each sweep
  std::vector<std::string> mode_names;       // one per mode, or empty
  double fit = 0;
  std::uint64_t sweeps = 0;
  std::uint64_t seed = 0;
  std::string stop_reason;
};

// Written under a temporary name beside `path`, synced, and renamed when whole. Throws Error{io}.
void write_model_file(const std::filesystem::path& path, const ModelFile& model);
// The same with the factors of someone else, since they may be large; model.factors is not read.
void write_model_file(const std::filesystem::path& path, const ModelFile& model,
                      std::span<const std::vector<double>> factors);

// Reads a model written by this or by a user's own h5py: fit_history, mode_names, seed, fit, sweeps and stop_reason may
// be absent. Throws Error{io} if it cannot be read, Error{invalid_argument} if it is no model, Error{corrupt} where
// shapes disagree or a number is not finite. Sizes are checked before anything is allocated.
ModelFile read_model_file(const std::filesystem::path& path);

// True if the file is HDF5 with attribute format = "blco-model". Never throws.
bool is_model_file(const std::filesystem::path& path) noexcept;

}  // namespace blco
