// Reads coordinate arrays that lie in memory, so that they are ingested like any other input.
#pragma once

#include <blco/ingest_input.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"

namespace blco {

class ArrayReader final : public CoordinateReader {
 public:
  // The arrays and the executor must outlive the reader. `shape` is the tensor's; empty: unknown.
  // Throws Error{invalid_argument} if the arrays are empty, differ in length, or are not one per mode of the shape, and
  // for labels that are not one per index.
  ArrayReader(const CoordinateArrays& arrays, const std::vector<std::uint64_t>& shape, Executor& executor);

  // Throws Error{invalid_argument}, which names the first entry that lies outside the shape or has no finite value.
  bool next(CoordinateBatch& batch) override;
  std::string name() const override { return "the coordinate arrays"; }
  std::uint64_t bytes_read() const override { return 0; }
  std::vector<Labels> take_labels() override { return arrays_->labels; }
  // The number of labels of each mode, or the largest coordinate plus one; takes a pass over the arrays. Empty if a
  // coordinate is too large for any mode: next() will refuse it.
  std::vector<std::uint64_t> find_extents() const;

  InputSize size() const override { return {.entries = count_}; }

 private:
  struct Slice;

  void copy(CoordinateBatch& batch, std::size_t first, std::size_t count, Slice& slice) const;
  bool has_labels(std::size_t mode) const { return !arrays_->labels.empty() && !arrays_->labels[mode].empty(); }
  bool is_acceptable(std::uint64_t entry) const;
  [[noreturn]] void refuse_entry(std::uint64_t entry) const;

  const CoordinateArrays* arrays_;
  Executor* executor_;
  std::vector<std::uint64_t> limits_;  // per mode, the first coordinate that is too large
  std::uint64_t count_ = 0;
  std::uint64_t taken_ = 0;
};

}  // namespace blco
