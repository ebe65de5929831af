// A CP model on disk, as blco/FORMAT.md specifies it. A checkpoint keeps more in /state: the first of its numbers is
// 2^n added up over the reordered modes n, and the rows of its matrices are in the order of the container that was
// fitted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blco/input_reading.hpp"
#include "blco/labels.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

struct ModelFile {
  std::vector<std::uint64_t> shape;
  std::uint64_t rank = 0;
  std::vector<double> weights;               // R
  std::vector<std::vector<double>> factors;  // per mode, row-major I_n x R
  std::string method = "als";
  std::string loss = "gaussian";
  std::vector<std::string> constraints;   // one per mode, or empty: none
  std::vector<double> fit_history;        // fit after each sweep
  std::vector<double> objective_history;  // of methods without a fit
  std::vector<std::string> mode_names;    // one per mode, or empty
  std::vector<Labels> labels;             // one list per mode, empty or as long as the mode; or empty
  InputReading reading;                   // of the tensor's input
  double fit = 0;
  std::optional<double> explained;  // share of the best constant model's deviance
  std::uint64_t sweeps = 0;
  std::uint64_t seed = 0;
  std::string precision;              // of the arithmetic: "f64", "f32" or "mixed"
  double ridge = 0;                   // added to the diagonal of each system; 0: none; -1: found by the fit
  std::optional<double> found_ridge;  // what the fit found
  std::string stop_reason;
  // The tensor that the model was fitted to; zero if unknown.
  std::uint64_t tensor_nnz = 0;
  double tensor_sum_of_squares = 0;
  // What a checkpoint keeps for the method. Matrices by name; their rows are written and read apart.
  int value_exponent = 0;  // its state is of values divided by 2 to the power of this
  std::vector<double> state_numbers;
  std::vector<std::string> state_matrices;
};

// The space that is reserved on the disk before a model is written, but for its texts and 8 bytes per sweep.
// `label_bytes` is the memory of all labels.
std::uint64_t model_file_bytes(std::span<const std::uint64_t> shape, std::uint64_t rank, std::uint64_t label_bytes,
                               std::uint64_t state_matrices = 0);

// Writes rows of the factor of `mode` from `first_row` on into `rows`, row-major; `rows` holds whole rows.
using FactorRows = std::function<void(std::size_t mode, std::uint64_t first_row, std::span<double> rows)>;
// Same for a matrix of model.state_matrices.
using StateRows =
    std::function<void(std::size_t matrix, std::size_t mode, std::uint64_t first_row, std::span<double> rows)>;

// Writes a temporary file next to `path`, syncs it, and renames it when complete. `factor_rows` supplies the factors in
// blocks of about 1 MiB, which is all the memory needed; model.factors is not read. `claim` is the caller's of `path`;
// null: there is none. Throws Error{io}.
void write_model_file(const std::filesystem::path& path, const ModelFile& model, const FactorRows& factor_rows,
                      const StateRows& state_rows = {}, const OutputClaim* claim = nullptr);
// Same with factors in memory; none: those of `model`.
void write_model_file(const std::filesystem::path& path, const ModelFile& model,
                      std::span<const std::vector<double>> factors = {}, const OutputClaim* claim = nullptr);

// Receives whole rows of the factor of `mode` from `first_row` on, row-major.
using FactorRowsSink = std::function<void(std::size_t mode, std::uint64_t first_row, std::span<const double> rows)>;
using StateRowsSink =
    std::function<void(std::size_t matrix, std::size_t mode, std::uint64_t first_row, std::span<const double> rows)>;

// Reads a model file in blocks of its factors, with about 1 MiB of memory.
class ModelFileReader {
 public:
  // Reads and checks everything but the numbers of the factors. Throws as read_model_file does.
  explicit ModelFileReader(const std::filesystem::path& path);
  ~ModelFileReader();
  ModelFileReader(const ModelFileReader&) = delete;
  ModelFileReader& operator=(const ModelFileReader&) = delete;

  // Without factors and labels.
  const ModelFile& header() const;
  // Per mode, the memory that its labels take; 0: it has none.
  const std::vector<std::uint64_t>& label_bytes() const;
  // Labels as ModelFile holds them. Throws Error{corrupt}.
  std::vector<Labels> read_labels() const;
  // Passes the factors to `sink`, modes and rows in order, and checks that each number is finite.
  void read_factors(const FactorRowsSink& sink) const;
  // Same for the matrices of header().state_matrices.
  void read_state(const StateRowsSink& sink) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads a model written by this library or by a user with h5py; only rank, shape, weights and factors are required.
// Checks sizes before it allocates. Throws Error: io (cannot be read), invalid_argument (not a model), corrupt (shapes
// disagree or a number is not finite).
ModelFile read_model_file(const std::filesystem::path& path);

// True if the file is HDF5 with attribute format = "blco-model". Never throws.
bool is_model_file(const std::filesystem::path& path) noexcept;

}  // namespace blco
