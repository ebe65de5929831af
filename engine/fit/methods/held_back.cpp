#include "engine/fit/methods/held_back.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>

#include "engine/common/counter_random.hpp"
#include "engine/tensor/frame_reader.hpp"
#include "engine/tensor/nonzero_reader.hpp"

namespace blco {
namespace {

// Than that of IngestOptions::hold_out, which has taken all cells of low hashes from a tensor.
constexpr std::uint64_t other_hash = 1;

}  // namespace

HeldBack::HeldBack(const ChunkSource& tensor, WorkerGroup& workers, int value_exponent)
    : HeldBack(tensor, workers, value_exponent, choose(tensor, workers.executor())) {}

HeldBack::HeldBack(const ChunkSource& tensor, WorkerGroup& workers, int value_exponent, std::vector<PackedCell> cells)
    : workers_(&workers), count_(cells.size()), packed_(tensor, workers, cells.size()) {
  packed_.pack(cells, value_exponent);
}

double HeldBack::share(std::uint64_t nnz) {
  constexpr double enough = 200;
  constexpr double too_many = 1 << 16;
  const auto entries = static_cast<double>(nnz);
  return std::min(std::clamp(enough / entries, 0.05, 0.2), too_many / entries);
}

// A hash chooses more by no more than six times the square root.
std::uint64_t HeldBack::most(std::uint64_t nnz) {
  const double mean = share(nnz) * static_cast<double>(nnz);
  return static_cast<std::uint64_t>(mean + 6 * std::sqrt(mean)) + 1;
}

std::uint64_t HeldBack::bytes(const TensorSummary& tensor) {
  std::uint64_t bytes =
      PackedCells::bytes(TensorLayout(tensor.shape), most(tensor.nnz)) + sizeof(NonzeroFrame) + sizeof(FrameReader);
  for (const std::uint64_t mode : tensor.reordered_modes) bytes += tensor.shape[mode] * sizeof(std::uint32_t);
  return bytes;
}

std::vector<PackedCell> HeldBack::choose(const ChunkSource& tensor, Executor& executor) {
  const std::uint64_t nnz = tensor.info().nnz;
  const double chosen_share = share(nnz);
  const std::size_t order = tensor.info().shape.size();
  std::vector<PackedCell> cells;
  cells.reserve(most(nnz));
  const NonzeroDecoder decoder(tensor);
  const auto frame = std::make_unique<NonzeroFrame>();
  ChunkWindow chunks(tensor, 1, executor);
  for (std::span<const ChunkView> next = chunks.next(); !next.empty(); next = chunks.next()) {
    const auto reader = std::make_unique<FrameReader>(next.front());
    for (std::uint64_t number = 0; number < reader->frames(); ++number) {
      reader->read_lines(number);
      decoder.decode(next.front(), number, *frame);
      for (std::size_t i = 0; i < frame->count && cells.size() < most(nnz); ++i) {
        std::uint64_t hash = other_hash;
        for (std::size_t n = 0; n < order; ++n) hash = RandomStream(hash, frame->coordinates[n][i]).bits(n);
        if (static_cast<double>(hash >> 11) * 0x1p-53 >= chosen_share) continue;
        cells.push_back({.line = {.key = reader->keys[i], .low = reader->lows[i]}, .value = frame->values[i]});
      }
    }
  }
  return cells;
}

void HeldBack::leave_out(EntryFunction function, ModeSet outputs) {
  function.scale = -function.scale;
  packed_.continue_pass(function, outputs);
}

double HeldBack::error() {
  packed_.pass({.rule = EntryRule::given});
  return std::sqrt(std::max(0.0, workers_->sum_of_terms()) / static_cast<double>(count_));
}

}  // namespace blco
