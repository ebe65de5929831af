// Factors between a backend, whose rows are in the order of the container, and everyone else, who goes by the tensor's
// own indices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/fit/cpd_job.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/backend.hpp"

namespace blco {

// Adds to a request what an OriginalRows takes: 8 bytes per index of the longest relabelled mode and, where a device
// computes, a factor of such a mode on the host.
void add_relabelling_bytes(const ContainerInfo& tensor, int rank, JobRequest& request);

class OriginalRows {
 public:
  // All must outlive this. `on_device`: the backend is slow to reach single rows.
  OriginalRows(const ChunkSource& tensor, Backend& backend, int rank, bool on_device)
      : tensor_(&tensor), backend_(&backend), rank_(static_cast<std::uint64_t>(rank)), on_device_(on_device) {}

  // As those of Backend, rows counted by the tensor's indices. A mode's rows are loaded, and stored, in order and all.
  void load(int mode, std::uint64_t first_row, std::span<const double> rows);
  void store(int mode, std::uint64_t first_row, std::span<double> rows);
  std::vector<double> take(int mode);

  // Brings rows that are in the backend's order into that of the tensor's indices.
  void reorder(int mode, std::span<double> rows);

  // Frees what is kept from one call to the next.
  void release();

 private:
  // Per index of the mode its row in the backend; empty where that is the same.
  std::span<const std::uint32_t> stored_rows(int mode);
  std::span<const std::uint32_t> rows_of_block(int mode, std::uint64_t first_row, std::size_t numbers);
  std::span<double> row(std::span<double> rows, std::uint64_t number) const {
    return rows.subspan(static_cast<std::size_t>(number * rank_), static_cast<std::size_t>(rank_));
  }

  const ChunkSource* tensor_;
  Backend* backend_;
  std::uint64_t rank_;
  bool on_device_;
  std::optional<int> mode_;  // of the next two
  std::vector<std::uint32_t> stored_;
  std::vector<double> staged_;  // the whole factor, on its way to a device or back
};

}  // namespace blco
