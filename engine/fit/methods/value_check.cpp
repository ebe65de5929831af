#include "engine/fit/methods/value_check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/payload.hpp"
#include "engine/common/number_text.hpp"
#include "engine/fit/methods/row_blocks.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "io/container/chunk_source.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

// Of entry `at` of the chunk, by the tensor's own indices: "(4, 0, 17)".
std::string place_of(const ChunkSource& tensor, const ChunkView& chunk, std::uint64_t at) {
  const TensorLayout layout(tensor.info().shape);
  const std::uint64_t frame = at / frame_entries;
  std::array<std::uint64_t, frame_entries> lows{};
  std::array<std::uint64_t, frame_entries> keys{};
  decode_line_frame(view_payload(chunk[Column::index]), frame, lows.data());
  if (layout.has_key()) decode_line_frame(view_payload(chunk[Column::key]), frame, keys.data());
  std::vector<std::uint64_t> coordinates(layout.shape().size());
  const std::size_t i = at % frame_entries;
  layout.delinearize({keys[i], lows[i]}, coordinates);
  std::string text;
  for (std::size_t n = 0; n < coordinates.size(); ++n) {
    const std::vector<std::uint32_t> originals = tensor.relabelling(n);
    const std::uint64_t stored = coordinates[n];
    const std::uint64_t original = stored < originals.size() ? originals[static_cast<std::size_t>(stored)] : stored;
    text += (n == 0 ? "(" : ", ") + std::to_string(original);
  }
  return text + ")";
}

void check_chunk(const ChunkSource& tensor, const ChunkView& chunk, const std::function<bool(double)>& is_allowed,
                 const std::string& demand) {
  if (chunk[Column::value].empty()) {
    if (is_allowed(1.0)) return;
    refuse("the value at " + place_of(tensor, chunk, 0) + ", counted from 0, is 1, but " + demand);
  }
  const PayloadView payload = view_payload(chunk[Column::value]);
  std::array<double, frame_entries> values{};
  for (std::uint64_t first = 0; first < chunk.nnz; first += frame_entries) {
    decode_value_frame(payload, first / frame_entries, values.data());
    const auto end =
        values.begin() + std::min<std::ptrdiff_t>(frame_entries, static_cast<std::ptrdiff_t>(chunk.nnz - first));
    const auto wrong = std::find_if_not(values.begin(), end, is_allowed);
    if (wrong == end) continue;
    const std::uint64_t at = first + static_cast<std::uint64_t>(wrong - values.begin());
    refuse("the value at " + place_of(tensor, chunk, at) + ", counted from 0, is " + in_full(*wrong) + ", but " +
           demand);
  }
}

bool has_negative(std::span<const double> numbers) {
  return std::ranges::any_of(numbers, [](double number) { return number < 0; });
}

bool has_negative_rows(const FitContext& context, int mode) {
  const int rank = context.options.rank;
  std::vector<double> block(static_cast<std::size_t>(numbers_of_block(rank)));
  return !for_each_row_block(context.tensor.summary().shape[static_cast<std::size_t>(mode)], rank,
                             [&](std::uint64_t first, std::size_t count) {
                               const std::span<double> rows = std::span(block).first(count);
                               context.backend.store_factor(mode, first, rows);
                               return !has_negative(rows);
                             });
}

// `is_negative(n)` says whether factor n has negative entries. Returns "" or the start of a sentence.
template <class IsNegative>
std::string find_negative(std::span<const double> weights, std::size_t order, const std::string& model,
                          const IsNegative& is_negative) {
  if (has_negative(weights)) return "a weight of " + model + " is negative";
  for (std::size_t n = 0; n < order; ++n) {
    if (is_negative(n)) return "factor " + std::to_string(n) + " of " + model + " has negative entries";
  }
  return "";
}

}  // namespace

void check_initial_signs(const CpdModel& initial, const std::string& taker) {
  const std::string found = find_negative(initial.weights, initial.factors.size(), "the initial model",
                                          [&](std::size_t n) { return has_negative(initial.factors[n]); });
  if (found.empty()) return;
  refuse(found + ", but " + taker +
         " takes weights and factors of at least 0; start from a nonnegative model, or leave out " +
         option_name("initial"));
}

void check_resumed_signs(const FitContext& context, std::span<const double> weights, const std::string& taker) {
  const std::string found =
      find_negative(weights, context.tensor.summary().shape.size(), "the model to resume",
                    [&](std::size_t n) { return has_negative_rows(context, static_cast<int>(n)); });
  if (found.empty()) return;
  refuse(context.options.resume.string() + ": " + found + ", but " + taker +
         " takes weights and factors of at least 0; resume another checkpoint, or start a new fit");
}

void check_values(const Tensor& tensor, const std::function<bool(double)>& is_allowed, const std::string& demand,
                  ProgressMeter& meter) {
  const bool all_are_one = tensor.summary().value.streamed_bytes == 0;
  if (all_are_one && is_allowed(1.0)) return;
  const ChunkSource& chunks = tensor.chunks();
  const TensorSizes sizes = measure_tensor(chunks);
  AlignedBuffer<std::byte> buffer(sizes.largest_buffer());
  std::vector<std::byte> scratch(static_cast<std::size_t>(sizes.largest_scratch()));
  meter.begin({.name = "check", .nonzeros = tensor.summary().nnz});
  for (std::uint64_t chunk = 0; chunk < sizes.chunks.size(); ++chunk) {
    if (chunk + 1 < sizes.chunks.size()) chunks.announce_read(chunk + 1);
    check_chunk(chunks, chunks.read_chunk(chunk, buffer.span(), scratch), is_allowed, demand);
    meter.advance(sizes.chunks[chunk].nnz, sizes.chunks[chunk].stored_bytes);
  }
  meter.end();
}

}  // namespace blco
