// Decodes every chunk into the baseline.
#include "engine/inspect/baseline_pass.hpp"

#include <array>
#include <span>
#include <vector>

#include "engine/fit/initial_factors.hpp"
#include "engine/inspect/frame_reader.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

void add_chunk(const ChunkView& chunk, AltoBaseline& baseline) {
  FrameReader reader(chunk);
  std::array<LineIndex, frame_entries> lines;
  for (std::uint64_t frame = 0; frame < reader.frames(); ++frame) {
    reader.read_lines(frame);
    reader.read_values(frame);
    const std::size_t entries = reader.entries(frame);
    for (std::size_t i = 0; i < entries; ++i) lines[i] = {reader.keys[i], reader.lows[i]};
    baseline.add(std::span(lines).first(entries), std::span(reader.values).first(entries));
  }
}

}  // namespace

std::unique_ptr<AltoBaseline> make_baseline(const Tensor& tensor, int rank, std::uint64_t seed, Executor& executor) {
  const TensorLayout layout(tensor.summary().shape);
  if (!has_alto_baseline(layout, rank)) return nullptr;
  std::unique_ptr<AltoBaseline> baseline = make_alto_baseline(layout, rank, tensor.summary().nnz, executor);
  const ChunkSource& chunks = tensor.chunks();
  for (std::uint64_t chunk = 0; chunk < chunks.info().chunk_count(); ++chunk) {
    AlignedBuffer<std::byte> buffer(chunks.buffer_bytes(chunk));
    std::vector<std::byte> scratch(chunks.scratch_bytes(chunk));
    add_chunk(chunks.read_chunk(chunk, buffer.span(), scratch), *baseline);
  }
  for (int mode = 0; mode < layout.order(); ++mode) fill_initial_rows(seed, mode, 0, rank, baseline->factor(mode));
  return baseline;
}

}  // namespace blco
