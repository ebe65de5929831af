// Moves factors between a backend, which orders rows as the container does, and everyone else, who uses the tensor's
// own indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/work/make_plan.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/rows.hpp"

namespace blco {

// Adds the memory of an OriginalRows to a job's needs: 8 bytes per index of the longest reordered mode and, with a
// device, one factor of such a mode on the host.
void add_reordering_bytes(const ContainerInfo& tensor, JobNeeds& needs);

class OriginalRows {
 public:
  // Arguments must outlive this. `on_device` says that the device is slow to access single rows.
  OriginalRows(const ChunkSource& tensor, Rows& rows, int rank, bool on_device)
      : tensor_(&tensor), rows_(&rows), rank_(static_cast<std::uint64_t>(rank)), on_device_(on_device) {}

  // Same as the functions of Rows, with rows numbered by the tensor's indices. Load or store all rows of a mode, in
  // order.
  void load(int mode, std::uint64_t first_row, std::span<const double> rows);
  void store(int mode, std::uint64_t first_row, std::span<double> rows);
  std::vector<double> take(int mode);

  // Reorders rows from the backend's order to that of the tensor's indices.
  void reorder(int mode, std::span<double> rows);

  // The container's row of each index of the mode; empty if they are the same. Valid until the next call.
  std::span<const std::uint32_t> stored_rows(int mode);

  // Frees memory kept between calls.
  void release();

 private:
  std::span<const std::uint32_t> rows_of_block(int mode, std::uint64_t first_row, std::size_t numbers);
  std::span<double> row(std::span<double> rows, std::uint64_t number) const {
    return rows.subspan(static_cast<std::size_t>(number * rank_), static_cast<std::size_t>(rank_));
  }

  const ChunkSource* tensor_;
  Rows* rows_;
  std::uint64_t rank_;
  bool on_device_;
  std::optional<int> mode_;  // of the next two members
  std::vector<std::uint32_t> stored_;
  std::vector<double> staged_;  // a whole factor on its way to or from a device
};

}  // namespace blco
