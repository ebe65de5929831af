// Keeps coordinates on disk, packed, while the shape is unknown: without it they have no line order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"
#include "io/file/packed_record.hpp"
#include "io/file/scratch_file.hpp"

namespace blco {

class CoordinateSpool {
 public:
  // Creates the file in `folder`, its name containing `mark`. `executor` must outlive the spool. Throws Error{io}.
  CoordinateSpool(const std::filesystem::path& folder, const std::string& mark, int order, Executor& executor)
      : file_(folder, mark), order_(order), executor_(&executor) {}

  std::uint64_t bytes_written() const { return file_.bytes(); }

  // Requires: batches of the spool's order, and no next() yet. Throws Error{io}.
  void add(const std::vector<CoordinateBatch>& batches);

  // Replaces `batches` by the next ones, in the order in which they were added. Returns false at the end.
  // Throws Error: io, corrupt.
  bool next(std::vector<CoordinateBatch>& batches);

  // Peak memory of add() and next() beside the batches.
  static std::uint64_t working_bytes(int order, int threads);

 private:
  CoordinateBatch unpack(const std::vector<std::byte>& record) const;

  ScratchFile file_;
  int order_;
  Executor* executor_;
  std::optional<RecordStream> stream_;
};

}  // namespace blco
