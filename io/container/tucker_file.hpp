// A Tucker model on disk, as blco/FORMAT.md specifies it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "blco/labels.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

struct TuckerFile {
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> ranks;          // one per mode
  std::vector<double> core;                  // R_1 x ... x R_N, row-major
  std::vector<std::vector<double>> factors;  // per mode, row-major I_n x R_n
  std::string method;
  std::vector<double> fit_history;      // fit after each sweep
  std::vector<std::string> mode_names;  // one per mode, or empty
  std::vector<Labels> labels;           // one list per mode, empty or as long as the mode; or empty
  std::uint64_t seed = 0;
  std::string stop_reason;
  std::uint64_t tensor_nnz = 0;
  double tensor_sum_of_squares = 0;
};

// The bytes of a model's numbers and labels in a file, and room for the rest.
std::uint64_t tucker_file_bytes(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& ranks,
                                std::uint64_t label_bytes);

// Writes a temporary file next to `path`, syncs it, and renames it when complete. `claim` is the caller's of `path`;
// null: there is none. Throws Error: io, invalid_argument (sizes that disagree).
void write_tucker_file(const std::filesystem::path& path, const TuckerFile& model, const OutputClaim* claim = nullptr);

// Checks sizes before it allocates. Throws Error: io (cannot be read), invalid_argument (not a Tucker model), corrupt
// (sizes disagree or a number is not finite).
TuckerFile read_tucker_file(const std::filesystem::path& path);

// The same without core, factors and labels, whose memory per mode `label_bytes` tells, 0 for a mode without.
TuckerFile read_tucker_header(const std::filesystem::path& path, std::vector<std::uint64_t>& label_bytes);

// True if the file is HDF5 with attribute format = "blco-tucker". Never throws.
bool is_tucker_file(const std::filesystem::path& path) noexcept;

}  // namespace blco
