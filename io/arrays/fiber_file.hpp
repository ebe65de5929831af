// Writes a semi-sparse tensor as HDF5, as blco/FORMAT.md specifies it, a block of fibers at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace blco {

class FiberFileWriter {
 public:
  // `shape`: of the whole tensor. Writes a temporary file next to `path`. Throws Error{io}, as add() and publish() do.
  FiberFileWriter(const std::filesystem::path& path, const std::vector<std::uint64_t>& shape, std::uint64_t mode,
                  std::uint64_t columns);
  // Discards the file unless it was published.
  ~FiberFileWriter();
  FiberFileWriter(const FiberFileWriter&) = delete;
  FiberFileWriter& operator=(const FiberFileWriter&) = delete;

  // Per other mode one index per fiber; per fiber `columns` numbers.
  void add(std::span<const std::span<const std::uint64_t>> coordinates, std::span<const double> rows);
  // Renames the complete file. Nothing may follow.
  void publish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
