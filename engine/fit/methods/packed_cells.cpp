#include "engine/fit/methods/packed_cells.hpp"

#include <algorithm>
#include <utility>

#include "blco/payload.hpp"
#include "engine/tensor/tensor_sizes.hpp"

namespace blco {
namespace {

constexpr std::uint64_t buffer_alignment = 64;

std::uint64_t slots_of(const TensorLayout& layout, std::uint64_t nnz) {
  return (layout.has_high_word() ? 3 : 2) * payload_slot_bytes(max_payload_bytes(nnz));
}

// Cells far apart pack worse than those of a tensor, and a device has room for the tensor's chunks only.
std::uint64_t nnz_of_piece(const ChunkSource& tensor, const TensorLayout& layout) {
  const TensorSizes sizes = measure_tensor(tensor);
  std::uint64_t frames = 1;
  std::uint64_t too_many = tensor.info().chunk_nnz / frame_entries + 1;
  while (frames + 1 < too_many) {
    const std::uint64_t middle = (frames + too_many) / 2;
    (slots_of(layout, middle * frame_entries) <= sizes.largest_buffer() ? frames : too_many) = middle;
  }
  return frames * frame_entries;
}

std::uint64_t buffer_bytes(const TensorLayout& layout, std::uint64_t count, std::uint64_t piece_nnz) {
  return count / piece_nnz * slots_of(layout, piece_nnz) + slots_of(layout, count % piece_nnz) + buffer_alignment;
}

}  // namespace

PackedCells::PackedCells(const ChunkSource& tensor, WorkerGroup& workers, std::uint64_t count)
    : layout_(tensor.info().shape), workers_(&workers), piece_nnz_(nnz_of_piece(tensor, layout_)) {
  buffer_ = workers.allocate_host(buffer_bytes(layout_, count, piece_nnz_));
}

std::uint64_t PackedCells::least_slot_bytes(const TensorLayout& layout) { return slots_of(layout, frame_entries); }

std::uint64_t PackedCells::bytes(const TensorLayout& layout, std::uint64_t count) {
  return buffer_bytes(layout, count, frame_entries) + max_payload_bytes(count) +
         count * (sizeof(PackedCell) + sizeof(std::uint64_t) + sizeof(double)) +
         (count / frame_entries + 1) * sizeof(ChunkView);
}

void PackedCells::pack(std::vector<PackedCell>& cells, int value_exponent) {
  std::ranges::sort(cells, {}, &PackedCell::line);
  pieces_.clear();
  used_ = 0;
  for (std::uint64_t first = 0; first < cells.size(); first += piece_nnz_) {
    const std::span<const PackedCell> part =
        std::span(cells).subspan(first, static_cast<std::size_t>(std::min(piece_nnz_, cells.size() - first)));
    ChunkView piece;
    piece.nnz = part.size();
    piece.value_exponent = value_exponent;
    const auto pack_column = [&](Column column, std::uint64_t LineIndex::*word) {
      column_.resize(part.size());
      std::ranges::transform(part, column_.begin(), [&](const PackedCell& cell) { return cell.line.*word; });
      payload_ = encode_line_column(column_, std::move(payload_));
      piece.payload[static_cast<std::size_t>(column)] = store(payload_);
    };
    pack_column(Column::index, &LineIndex::low);
    if (layout_.has_high_word()) pack_column(Column::high_word, &LineIndex::key);
    values_.resize(part.size());
    std::ranges::transform(part, values_.begin(), &PackedCell::value);
    payload_ = encode_values(values_, std::move(payload_));
    if (!payload_.empty()) piece.payload[static_cast<std::size_t>(Column::value)] = store(payload_);
    pieces_.push_back(piece);
  }
}

std::span<const std::byte> PackedCells::store(std::span<const std::byte> payload) {
  const std::span<std::byte> place = buffer_->bytes().subspan(used_, payload.size());
  std::ranges::copy(payload, place.begin());
  used_ += payload_slot_bytes(payload.size());
  return place;
}

void PackedCells::pass(const EntryFunction& function) { workers_->pass_over(pieces_, PassRequest(function, 0)); }

void PackedCells::continue_pass(const EntryFunction& function, ModeSet outputs) {
  PassRequest request(function, outputs);
  request.continues = true;
  workers_->pass_over(pieces_, request);
}

}  // namespace blco
