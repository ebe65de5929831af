// A CP or Tucker model on disk, as blco/FORMAT.md specifies it. A checkpoint keeps more in /state: the first of its
// numbers is 2^n added up over the reordered modes n, and the rows of its matrices are in the order of the container
// that was fitted.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blco/labels.hpp"
#include "blco/model_header.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

// Components with a weight each, or a core and a number of columns of its own for each mode.
enum class ModelKind { cp, tucker };

struct ModelFile : ModelHeader {
  ModelKind kind = ModelKind::cp;
  std::uint64_t rank = 0;                    // cp
  std::vector<double> weights;               // cp: R
  std::vector<std::uint64_t> ranks;          // tucker: per mode
  std::vector<double> core;                  // tucker: R_1 x ... x R_N, row-major
  std::vector<std::vector<double>> factors;  // per mode, row-major I_n x R, or I_n x R_n
  std::uint64_t stated_sweeps = 0;           // what the file says beside its histories; 0: nothing
  bool states_precision = true;              // false for a file without one
  // What a checkpoint keeps for the method. Matrices by name; their rows are written and read apart.
  int value_exponent = 0;  // its state is of values divided by 2 to the power of this
  std::vector<double> state_numbers;
  std::vector<std::string> state_matrices;

  std::uint64_t numbers() const;  // of weights, or of the core
  std::uint64_t columns(std::size_t mode) const { return kind == ModelKind::cp ? rank : ranks[mode]; }
};

// The space that is reserved on the disk before a model is written, but for its texts and 8 bytes per sweep. Per mode,
// its factor has so many columns; `numbers` are those of weights or core; `label_bytes` is the memory of all labels.
std::uint64_t model_file_bytes(std::span<const std::uint64_t> shape, std::span<const std::uint64_t> columns,
                               std::uint64_t numbers, std::uint64_t label_bytes, std::uint64_t state_matrices = 0);

// Writes rows of the factor of `mode` from `first_row` on into `rows`, row-major; `rows` holds whole rows.
using FactorRows = std::function<void(std::size_t mode, std::uint64_t first_row, std::span<double> rows)>;
// Same for a matrix of model.state_matrices.
using StateRows =
    std::function<void(std::size_t matrix, std::size_t mode, std::uint64_t first_row, std::span<double> rows)>;

// The numbers of a model that is written, where they are not those of the ModelFile.
struct ModelNumbers {
  FactorRows factor_rows = {};        // in blocks of about 1 MiB, which is all the memory needed
  StateRows state_rows = {};          // the same
  std::span<const double> core = {};  // tucker
};

// Writes a temporary file next to `path`, syncs it, and renames it when complete. `claim` is the caller's of `path`;
// null: there is none. Throws Error: io, invalid_argument (sizes that disagree, or a mode of length 0).
void write_model_file(const std::filesystem::path& path, const ModelFile& model, const ModelNumbers& numbers,
                      const OutputClaim* claim = nullptr);
// Same with factors and core in memory, whose numbers must be finite.
void write_model_file(const std::filesystem::path& path, const ModelFile& model,
                      std::span<const std::vector<double>> factors, std::span<const double> core = {},
                      const OutputClaim* claim = nullptr);
// Same with all that `model` has.
void write_model_file(const std::filesystem::path& path, const ModelFile& model);

// Receives whole rows of the factor of `mode` from `first_row` on, row-major.
using FactorRowsSink = std::function<void(std::size_t mode, std::uint64_t first_row, std::span<const double> rows)>;
using StateRowsSink =
    std::function<void(std::size_t matrix, std::size_t mode, std::uint64_t first_row, std::span<const double> rows)>;

// Reads a model file in blocks of its factors, with about 1 MiB of memory.
class ModelFileReader {
 public:
  // Reads and checks all but the core and the numbers of the factors. Throws as read_model_file does.
  explicit ModelFileReader(const std::filesystem::path& path, ModelKind kind = ModelKind::cp);
  ~ModelFileReader();
  ModelFileReader(const ModelFileReader&) = delete;
  ModelFileReader& operator=(const ModelFileReader&) = delete;

  // Without factors, core and labels.
  const ModelFile& header() const;
  // Per mode, the memory that its labels take; 0: it has none.
  const std::vector<std::uint64_t>& label_bytes() const;
  // Labels as ModelFile holds them. Throws Error{corrupt}.
  std::vector<Labels> read_labels() const;
  // Of a Tucker model. Throws Error{corrupt}.
  std::vector<double> read_core() const;
  // Passes the factors to `sink`, modes and rows in order, and checks that each number is finite.
  void read_factors(const FactorRowsSink& sink) const;
  // Same for the matrices of header().state_matrices.
  void read_state(const StateRowsSink& sink) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads a model written by this library or by a user with h5py; of a CP model only rank, shape, weights and factors are
// required, of a Tucker model ranks, shape, core and factors. Checks sizes before it allocates. Throws Error: io
// (cannot be read), invalid_argument (not a model of this kind), corrupt (shapes disagree or a number is not finite).
ModelFile read_model_file(const std::filesystem::path& path, ModelKind kind = ModelKind::cp);

// Which kind of model a file is, by its attribute format; nothing for a file that is none. Never throws.
std::optional<ModelKind> model_kind(const std::filesystem::path& path) noexcept;

}  // namespace blco
