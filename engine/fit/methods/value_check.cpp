#include "engine/fit/methods/value_check.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "engine/common/number_text.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/work/rows/row_blocks.hpp"

namespace blco {
namespace {

// Of entry `at` of the chunk, by the tensor's own indices: "(4, 0, 17)".
std::string place_of(const ChunkSource& tensor, const ChunkView& chunk, std::uint64_t at) {
  NonzeroFrame nonzeros;
  NonzeroDecoder(tensor).decode(chunk, at / frame_entries, nonzeros);
  std::string text;
  for (std::size_t n = 0; n < tensor.info().shape.size(); ++n) {
    text += (n == 0 ? "(" : ", ") + std::to_string(nonzeros.coordinates[n][at % frame_entries]);
  }
  return text + ")";
}

void check_chunk(const ChunkSource& tensor, const ChunkView& chunk, const ValueCheck& is_allowed,
                 const std::string& demand) {
  FrameReader frames(chunk);
  for (std::uint64_t frame = 0; frame < frames.frames(); ++frame) {
    frames.read_values(frame);
    const auto values = std::span(frames.values).first(frames.entries(frame));
    const auto wrong = std::ranges::find_if_not(values, [&](double x) { return is_allowed(x, 1); });
    if (wrong == values.end()) continue;
    const std::uint64_t at = frame * frame_entries + static_cast<std::uint64_t>(wrong - values.begin());
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
                               context.workers.factors().store_factor(mode, first, rows);
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

void check_values(const Tensor& tensor, const ValueCheck& is_allowed, const std::string& demand, ProgressMeter& meter) {
  const bool all_are_one = tensor.summary().value.streamed_bytes == 0;
  if (all_are_one && is_allowed(1.0, tensor.summary().nnz)) return;
  const ChunkSource& chunks = TensorChunks::of(tensor);
  SerialExecutor executor;
  ChunkWindow window(chunks, 1, executor);
  meter.begin({.name = "check", .nonzeros = tensor.summary().nnz});
  std::uint64_t bytes_before = 0;
  for (std::span<const ChunkView> chunk = window.next(); !chunk.empty(); chunk = window.next()) {
    check_chunk(chunks, chunk[0], is_allowed, demand);
    meter.advance(chunk[0].nnz, window.bytes_read() - bytes_before);
    bytes_before = window.bytes_read();
  }
  meter.end();
}

}  // namespace blco
