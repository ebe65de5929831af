// A sparse tensor that can be fitted or multiplied: a container on disk (TensorFile) or packed in memory
// (MemoryTensor).
#pragma once

#include <blco/input_reading.hpp>
#include <blco/labels.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace blco {

class ChunkSource;

struct TensorColumn {
  std::uint64_t stored_bytes = 0;    // on disk
  std::uint64_t streamed_bytes = 0;  // packed, as cached in memory and read by the kernels
};

// A copy of the nonzeros, those of each chunk in the order of a mode.
struct OrderedCopy {
  std::uint64_t mode = 0;
  std::optional<std::uint64_t> along;  // the mode whose bits lie below all others, if they do
  TensorColumn index;
  TensorColumn high_word;
  TensorColumn value;
};

struct TensorSummary {
  std::vector<std::uint64_t> shape;
  std::vector<std::string> mode_names;
  std::string value_name = {};  // of the column that the values came from; empty: not kept
  InputReading reading = {};    // of the input that it was made of
  std::uint64_t nnz = 0;
  std::vector<std::uint64_t> reordered_modes;  // modes stored with other indices than the tensor's own
  int line_bits = 0;
  std::uint64_t chunk_nnz = 0;
  std::uint64_t chunk_count = 0;
  double sum_of_squares = 0;
  std::uint64_t file_bytes = 0;  // 0: in memory
  std::filesystem::path file = {};
  TensorColumn index;      // low 64 bits of the line index
  TensorColumn high_word;  // the remaining bits, if any
  TensorColumn value;
  std::vector<OrderedCopy> copies;         // by rising mode; the columns above are those of the natural order alone
  std::vector<std::uint64_t> label_bytes;  // memory of each mode's labels, or 0; empty: no mode has labels
};

// Move-only handle. Reading is thread-safe. All functions, its own included, refuse a handle that has been moved from:
// Error{invalid_argument}.
class Tensor {
 public:
  virtual ~Tensor();

  const TensorSummary& summary() const;
  const std::vector<std::uint64_t>& shape() const { return summary().shape; }
  std::size_t order() const { return summary().shape.size(); }
  std::uint64_t nnz() const { return summary().nnz; }

  // The labels of each mode; an empty list for a mode without, and an empty vector if no mode has any. Each call reads
  // them from the file into the memory that summary().label_bytes tells. Throws Error: io, corrupt.
  std::vector<Labels> labels() const;

 protected:
  explicit Tensor(std::unique_ptr<ChunkSource> chunks);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(Tensor&&) noexcept;

 private:
  friend struct TensorChunks;  // of the library

  std::unique_ptr<ChunkSource> chunks_;
  TensorSummary summary_;
};

// The number of the mode that `word` names: by its name, by its number from 0, or by the word that made it of a column,
// such as "when:day" of the mode "when". Throws Error{invalid_argument} that lists the modes.
std::size_t find_mode(const TensorSummary& tensor, const std::string& word);

}  // namespace blco
