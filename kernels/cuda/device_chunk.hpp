// The payloads of a chunk in device memory, and their transfer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/error.hpp"
#include "blco/payload.hpp"
#include "kernels/backend.hpp"
#include "kernels/cuda/conflict_resolution.hpp"
#include "kernels/cuda/device_memory.hpp"

namespace blco::cuda {

struct DeviceChunk {
  std::uint64_t number = 0;
  std::uint64_t nnz = 0;
  std::uint64_t payload_bytes = 0;                  // with what lies between the payloads
  std::array<PayloadView, column_count> payload{};  // `bytes` are in device memory; null without a payload
  std::vector<RowRange> rows;                       // per mode, of its matrices
};

// The rows of a chunk in a mode's matrices. Throws Error{corrupt} if its bounds are not held, or without bounds no row:
// kernels do not look whether row 0 is held.
inline RowRange rows_of_chunk(const ChunkView& chunk, const BackendConfig& config, int mode) {
  const auto n = static_cast<std::size_t>(mode);
  const bool known = !chunk.lower.empty() && !chunk.upper.empty();
  const RowRange rows = known ? RowRange{chunk.lower[n], chunk.upper[n]} : RowRange{0, config.layout.shape()[n] - 1};
  if (config.holds_all(mode)) return rows;
  const RowIndex& held = *config.held[n];
  const bool legal = rows.last < config.layout.shape()[n] && rows.first <= rows.last &&
                     (known ? held.holds(rows.first) && held.holds(rows.last) : held.count() > 0);
  if (legal) return {held.place_of(rows.first), held.place_of(rows.last + 1) - 1};
  throw Error(ErrorKind::corrupt, "chunk " + std::to_string(chunk.number) + ": its bounds of mode " +
                                      std::to_string(mode) +
                                      " are new since rows were shared out; the file is damaged, ingest it again");
}

// Lays the payloads out from `memory` on, without copying. Throws as rows_of_chunk.
inline DeviceChunk place_chunk(const ChunkView& chunk, const BackendConfig& config, std::byte* memory) {
  DeviceChunk placed;
  placed.number = chunk.number;
  placed.nnz = chunk.nnz;
  for (std::size_t column = 0; column < column_count; ++column) {
    const std::span<const std::byte> payload = chunk.payload[column];
    const bool has_values = column == static_cast<std::size_t>(Column::value);
    if (has_values) placed.payload[column] = view_values(payload, chunk.value_exponent);
    if (payload.empty()) continue;
    if (!has_values) placed.payload[column] = view_payload(payload);
    placed.payload[column].bytes = memory + payload_slot_bytes(placed.payload_bytes);
    placed.payload_bytes = payload_slot_bytes(placed.payload_bytes) + payload.size();
  }
  for (int mode = 0; mode < config.layout.order(); ++mode) placed.rows.push_back(rows_of_chunk(chunk, config, mode));
  return placed;
}

// Queues the copies to the places in `placed`: one copy if the payloads follow each other in host memory too.
inline void copy_payloads(const ChunkView& chunk, const DeviceChunk& placed, cudaStream_t stream) {
  const std::span<const std::byte> all = chunk.contiguous();
  if (!chunk[Column::index].empty() && !all.empty()) {
    return copy_to_device(const_cast<std::byte*>(placed.payload[0].bytes), all, stream);
  }
  for (std::size_t column = 0; column < column_count; ++column) {
    if (chunk.payload[column].empty()) continue;
    copy_to_device(const_cast<std::byte*>(placed.payload[column].bytes), chunk.payload[column], stream);
  }
}

}  // namespace blco::cuda
