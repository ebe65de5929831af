// A sparse tensor, as fits and products take it: from a container on disk (TensorFile) or in memory (MemoryTensor).
#pragma once

#include <blco/labels.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace blco {

class ChunkSource;

struct TensorColumn {
  std::uint64_t stored_bytes = 0;    // on disk
  std::uint64_t streamed_bytes = 0;  // packed, as cached in memory and read by the kernels
};

struct TensorSummary {
  std::vector<std::uint64_t> shape;
  std::vector<std::string> mode_names;
  std::uint64_t nnz = 0;
  std::vector<std::uint64_t> relabelled_modes;  // stored by other numbers than the tensor's own
  int line_bits = 0;
  std::uint64_t chunk_nnz = 0;
  std::uint64_t chunk_count = 0;
  double sum_of_squares = 0;
  std::uint64_t file_bytes = 0;  // 0: in memory
  TensorColumn index;            // low 64 bits of the line index
  TensorColumn key;              // the rest, where there is one
  TensorColumn value;
  std::vector<std::uint64_t> label_bytes;  // per mode, the memory that its labels take, 0 without; empty: none has any
};

// Move-only handle. Reading is thread-safe.
class Tensor {
 public:
  virtual ~Tensor();

  const TensorSummary& summary() const { return summary_; }

  // Per mode, what its coordinates stand for; an empty list for a mode of plain numbers, and nothing where all modes
  // are. Read from the file at each call: summary().label_bytes says how much memory that takes. Throws Error: io;
  // corrupt, where they are damaged.
  std::vector<Labels> labels() const;

  // For the library itself.
  const ChunkSource& chunks() const { return *chunks_; }

 protected:
  explicit Tensor(std::unique_ptr<ChunkSource> chunks);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(Tensor&&) noexcept;

 private:
  std::unique_ptr<ChunkSource> chunks_;
  TensorSummary summary_;
};

}  // namespace blco
