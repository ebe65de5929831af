// A BLCO container on disk, opened for reading.
#pragma once

#include <blco/error.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace blco {

class ContainerReader;

struct TensorColumn {
  std::uint64_t stored_bytes = 0;    // on disk
  std::uint64_t streamed_bytes = 0;  // packed, as cached in memory and read by the kernels
};

struct TensorSummary {
  std::vector<std::uint64_t> shape;
  std::vector<std::string> mode_names;
  std::uint64_t nnz = 0;
  int line_bits = 0;
  std::uint64_t chunk_nnz = 0;
  std::uint64_t chunk_count = 0;
  double sum_of_squares = 0;
  std::uint64_t file_bytes = 0;
  TensorColumn index;  // low 64 bits of the line index
  TensorColumn key;    // the rest, where there is one
  TensorColumn value;
};

// Move-only handle. Reading is thread-safe.
class TensorFile {
 public:
  // Reads and checks the metadata. Throws Error: io if it cannot be read, invalid_argument if it is no BLCO
  // container, corrupt if it is damaged.
  explicit TensorFile(const std::filesystem::path& path);
  ~TensorFile();
  TensorFile(TensorFile&&) noexcept;
  TensorFile& operator=(TensorFile&&) noexcept;

  const TensorSummary& summary() const;

  // For the library itself.
  const ContainerReader& reader() const;

 private:
  std::unique_ptr<ContainerReader> reader_;
  TensorSummary summary_;
};

}  // namespace blco
