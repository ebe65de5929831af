// A CP model: X is about sum_r weights[r] * a_0r o a_1r o ... (Kolda & Bader 2009, section 3).
#pragma once

#include <blco/error.hpp>
#include <blco/kernel_choice.hpp>
#include <blco/labels.hpp>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace blco {

// Of a model that was saved during its fit: unfinished.
enum class StopReason { tolerance, sweeps, cancelled, time, unfinished };

struct CpdModel {
  std::vector<std::uint64_t> shape;
  int rank = 0;
  std::vector<double> weights;               // R
  std::vector<std::vector<double>> factors;  // per mode, row-major I_n x R, columns of 2-norm 1 (or 0)
  std::vector<double> fit_history;           // fit after each sweep: 1 - |X - model| / |X|
  std::vector<std::string> mode_names;
  std::vector<Labels> labels = {};  // one list per mode, empty or as long as the mode; or empty: no mode has any
  std::uint64_t seed = 0;
  Precision precision = Precision::f64;
  StopReason stop_reason = StopReason::sweeps;
  // Of the tensor that it was fitted to; zero where that is not known.
  std::uint64_t tensor_nnz = 0;
  double tensor_sum_of_squares = 0;

  double fit() const { return fit_history.empty() ? 0.0 : fit_history.back(); }
};

const char* to_string(StopReason reason);

const char* to_string(Precision precision);

// HDF5, readable with plain h5py; replaces `path` only when the new file is whole. Throws Error{io}.
void save(const CpdModel& model, const std::filesystem::path& path);

// Throws Error: io, invalid_argument (no model), corrupt.
CpdModel load_model(const std::filesystem::path& path);

// True if the file is a model; for telling it from a tensor. Never throws.
bool is_model(const std::filesystem::path& path) noexcept;

}  // namespace blco
