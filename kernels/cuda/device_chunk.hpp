// The payloads of a chunk in device memory, and their transfer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "blco/chunk.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "kernels/cuda/conflict_resolution.hpp"
#include "kernels/cuda/device_memory.hpp"

namespace blco::cuda {

struct DeviceChunk {
  std::uint64_t number = 0;
  std::uint64_t nnz = 0;
  std::uint64_t payload_bytes = 0;                  // with what lies between the payloads
  std::array<PayloadView, column_count> payload{};  // `bytes` are in device memory; null without a payload
  std::vector<RowRange> rows;                       // per mode
};

// Lays the payloads out from `memory` on, without copying.
inline DeviceChunk place_chunk(const ChunkView& chunk, const TensorLayout& layout, std::byte* memory) {
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
  for (std::size_t mode = 0; mode < layout.shape().size(); ++mode) {
    const bool known = !chunk.lower.empty() && !chunk.upper.empty();
    placed.rows.push_back(known ? RowRange{chunk.lower[mode], chunk.upper[mode]}
                                : RowRange{0, layout.shape()[mode] - 1});
  }
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
