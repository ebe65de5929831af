// Reads all of a tensor and checks it against its format.
#include <algorithm>
#include <array>
#include <bit>
#include <blco/verify.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "blco/option_name.hpp"
#include "blco/payload.hpp"
#include "engine/common/counter_random.hpp"
#include "engine/common/memory.hpp"
#include "engine/common/number_text.hpp"
#include "engine/tensor/frame_reader.hpp"
#include "engine/tensor/nonzero_reader.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "io/file/file_descriptor.hpp"
#include "io/hdf5/hdf5_trailer.hpp"

namespace blco {
namespace {

constexpr std::array<const char*, column_count> names_of_columns = {"index", "key", "value"};

// Facts about one chunk, for the checks across chunks.
struct ChunkFacts {
  LineIndex first;
  LineIndex last;
  long double sum_of_squares = 0;
  std::uint64_t hash = 0;  // of coordinates and values, whatever their order
};

std::string as_text(std::span<const std::uint64_t> coordinates) {
  std::string text = "(";
  for (const std::uint64_t coordinate : coordinates) {
    if (text.size() > 1) text.append(", ");
    text.append(std::to_string(coordinate));
  }
  return text.append(")");
}

class ChunkVerifier {
 public:
  ChunkVerifier(const ChunkSource& reader, const TensorLayout& layout, const ChunkView& chunk)
      : reader_(&reader), layout_(&layout), chunk_(&chunk), frames_(chunk), order_(layout.shape().size()) {
    for (std::size_t n = 0; n < order_; ++n) {
      low_bits_ |= layout.view().modes[n].low_mask;
      high_bits_ |= layout.view().modes[n].high_mask;
    }
    min_.assign(order_, ~std::uint64_t{0});
    max_.assign(order_, 0);
  }

  ChunkFacts run() {
    check_payloads();
    for (std::uint64_t frame = 0; frame < frames_.frames(); ++frame) {
      frames_.read_lines(frame);
      frames_.read_values(frame);
      check_lines(frame);
      check_coordinates(frame);
      check_values(frame);
      add_hashes(frame);
    }
    check_bounds();
    facts_.last = previous_;
    return facts_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::corrupt,
                reader_->name() + ": chunk " + std::to_string(chunk_->number) + what + "; ingest the tensor again");
  }
  [[noreturn]] void fail_at(std::uint64_t frame, std::size_t i, const std::string& what) const {
    std::vector<std::uint64_t> coordinates(order_);
    layout_->delinearize({frames_.keys[i], frames_.lows[i]}, coordinates);
    for (std::size_t n = 0; n < order_; ++n) {
      const std::vector<std::uint32_t> originals = reader_->reordering(n);
      if (coordinates[n] < originals.size()) coordinates[n] = originals[static_cast<std::size_t>(coordinates[n])];
    }
    fail(", nonzero " + std::to_string(frame * frame_entries + i) + " at " + as_text(coordinates) + ", counted from 0" +
         what);
  }

  // The reader has already checked checksums, codecs and frame tables.
  void check_payloads() const {
    for (std::size_t c = 0; c < column_count; ++c) {
      if (chunk_->payload[c].empty()) continue;
      const std::string column = std::string(", column ") + names_of_columns[c] + ": ";
      if (view_payload(chunk_->payload[c]).count > reader_->info().chunk_nnz) {
        fail(column + "the payload holds more entries than a chunk");
      }
      try {
        check_padding(chunk_->payload[c]);
      } catch (const Error& error) {
        fail(column + error.what());
      }
    }
  }

  void check_lines(std::uint64_t frame) {
    for (std::size_t i = 0; i < frames_.entries(frame); ++i) {
      const LineIndex line{frames_.keys[i], frames_.lows[i]};
      if ((line.low & ~low_bits_) != 0 || (line.key & ~high_bits_) != 0) {
        fail_at(frame, i, ": its line index has bits that belong to no mode");
      }
      if (started_ && line == previous_) fail_at(frame, i, ": it has the coordinates of the nonzero before it");
      if (started_ && line < previous_) fail_at(frame, i, ": its line index is below that of the nonzero before it");
      if (!started_) facts_.first = line;
      started_ = true;
      previous_ = line;
    }
  }

  void check_coordinates(std::uint64_t frame) {
    FrameColumn coordinates;
    const std::size_t entries = frames_.entries(frame);
    hashes_.fill(0);
    for (std::size_t n = 0; n < order_; ++n) {
      const ModeLayout& mode = layout_->view().modes[n];
      frames_.coordinates(mode, entries, coordinates);
      for (std::size_t i = 0; i < entries; ++i) {
        if (coordinates[i] >= mode.length) {
          fail_at(frame, i, ": mode " + std::to_string(n) + " has the length " + std::to_string(mode.length));
        }
        if (coordinates[i] < chunk_->lower[n] || coordinates[i] > chunk_->upper[n]) {
          fail_at(frame, i,
                  ": it lies outside the chunk's bounds of mode " + std::to_string(n) + ", " +
                      std::to_string(chunk_->lower[n]) + " to " + std::to_string(chunk_->upper[n]));
        }
        hashes_[i] = scramble(hashes_[i] ^ coordinates[i]);
        min_[n] = std::min(min_[n], coordinates[i]);
        max_[n] = std::max(max_[n], coordinates[i]);
      }
    }
  }

  void check_values(std::uint64_t frame) {
    for (std::size_t i = 0; i < frames_.entries(frame); ++i) {
      const double value = frames_.values[i];
      if (!std::isfinite(value)) fail_at(frame, i, ": its value is not finite");
      facts_.sum_of_squares += static_cast<long double>(value) * value;
    }
  }

  // Of the coordinates looked at last.
  void add_hashes(std::uint64_t frame) {
    for (std::size_t i = 0; i < frames_.entries(frame); ++i) {
      facts_.hash += scramble(hashes_[i] ^ std::bit_cast<std::uint64_t>(frames_.values[i]));
    }
  }

  void check_bounds() const {
    for (std::size_t n = 0; n < order_; ++n) {
      if (min_[n] == chunk_->lower[n] && max_[n] == chunk_->upper[n]) continue;
      fail(": the bounds of mode " + std::to_string(n) + " are " + std::to_string(chunk_->lower[n]) + " to " +
           std::to_string(chunk_->upper[n]) + ", but the coordinates go from " + std::to_string(min_[n]) + " to " +
           std::to_string(max_[n]));
    }
  }

  const ChunkSource* reader_;
  const TensorLayout* layout_;
  const ChunkView* chunk_;
  FrameReader frames_;
  std::size_t order_;
  std::uint64_t low_bits_ = 0;
  std::uint64_t high_bits_ = 0;
  std::vector<std::uint64_t> min_;
  std::vector<std::uint64_t> max_;
  FrameColumn hashes_{};  // of the coordinates of a frame
  LineIndex previous_;
  bool started_ = false;
  ChunkFacts facts_;
};

[[noreturn]] void fail(const ChunkSource& reader, const std::string& what) {
  throw Error(ErrorKind::corrupt, reader.name() + ": " + what + "; ingest the tensor again");
}

void check_across_chunks(const ChunkSource& reader, const std::vector<ChunkFacts>& facts) {
  for (std::size_t c = 1; c < facts.size(); ++c) {
    if (facts[c - 1].last < facts[c].first) continue;
    fail(reader,
         "chunk " + std::to_string(c) +
             (facts[c - 1].last == facts[c].first ? " starts at the coordinates at which the chunk before it ends"
                                                  : " starts below the line index at which the chunk before it ends"));
  }
  long double sum = 0;
  for (const ChunkFacts& chunk : facts) sum += chunk.sum_of_squares;
  const auto stated = static_cast<long double>(reader.info().sum_of_squares);
  // Nonnegative terms, added in any order, are off by at most their number in units of the last place.
  const long double tolerance = std::max(1e-12L, 0x1p-52L * static_cast<long double>(reader.info().nnz));
  if (!(std::abs(sum - stated) <= tolerance * sum)) {
    fail(reader, "sum_of_squares is " + in_full(reader.info().sum_of_squares) + ", but the values give " +
                     in_full(static_cast<double>(sum)));
  }
}

// Memory to check the longest reordering.
std::uint64_t reordering_bytes(const ContainerInfo& info) {
  std::uint64_t bytes = 0;
  for (const ReorderedMode& reordered : info.reordered) {
    const std::uint64_t length = info.shape[static_cast<std::size_t>(reordered.mode)];
    bytes = std::max(bytes, length * sizeof(std::uint32_t) + length / 8);
  }
  return bytes;
}

// Checks the chunks of a tensor, or of a copy, and adds what it has read.
class Verification {
 public:
  Verification(const Tensor& tensor, const MemoryBudget& budget, int threads, const ProgressCallback& progress)
      : natural_(TensorChunks::of(tensor)),
        budget_(host_budget(budget.host_bytes)),
        threads_(threads),
        meter_(progress) {}

  VerifiedTensor run() {
    const std::vector<ChunkFacts> facts = verify_chunks(natural_);
    check_across_chunks(natural_, facts);
    // Reading a reordering checks it, and so do labels.
    for (std::uint64_t mode = 0; mode < natural_.info().shape.size(); ++mode) {
      static_cast<void>(natural_.reordering(mode));
    }
    for (std::uint64_t mode = 0; mode < natural_.info().shape.size(); ++mode) {
      if (const ChunkSource* const copy = natural_.ordered_copy(mode)) check_copy(*copy, facts);
    }
    static_cast<void>(natural_.labels());
    check_end();
    return done_;
  }

 private:
  // Last, because a fault in the data says more.
  void check_end() const {
    if (natural_.has_checksum()) return;
    const std::string name = natural_.name();
    throw Error(ErrorKind::corrupt,
                name +
                    ": its trailer, the checksum of all but the chunks, is missing: it was cut off there, or another "
                    "program has written it; its nonzeros are whole; restore it from a copy, or ingest it anew with " +
                    option_name("IngestOptions.orders", "none"));
  }

  void check_copy(const ChunkSource& copy, const std::vector<ChunkFacts>& natural) {
    const std::vector<ChunkFacts> facts = verify_chunks(copy);
    for (std::size_t c = 0; c < facts.size(); ++c) {
      if (facts[c].hash == natural[c].hash) continue;
      fail(copy, "its chunk " + std::to_string(c) + " has other nonzeros than that of the natural order");
    }
  }

  std::vector<ChunkFacts> verify_chunks(const ChunkSource& chunks) {
    const TensorLayout layout = layout_of(chunks.info());
    std::vector<ChunkFacts> facts(chunks.info().chunk_count());
    ScanBudget scan;
    scan.total_bytes = budget_;
    scan.fixed_bytes = natural_.held_bytes() - chunks.held_bytes() + facts.size() * sizeof(ChunkFacts) +
                       reordering_bytes(chunks.info());
    const auto visit = [&](std::size_t, const ChunkView& chunk) {
      facts[chunk.number] = ChunkVerifier(chunks, layout, chunk).run();
    };
    meter_.begin({.name = "verify", .nonzeros = chunks.info().nnz});
    scan_chunks(chunks, scan_workers(chunks, scan, threads_), visit, meter_);
    meter_.end();
    done_.chunks += facts.size();
    done_.nonzeros = chunks.info().nnz;
    for (std::uint64_t chunk = 0; chunk < facts.size(); ++chunk) done_.stored_bytes += chunks.stored_bytes(chunk);
    return facts;
  }

  const ChunkSource& natural_;
  std::uint64_t budget_;
  int threads_;
  ProgressMeter meter_;
  VerifiedTensor done_;
};

}  // namespace

VerifiedTensor verify(const Tensor& tensor, const MemoryBudget& budget, int threads, const ProgressCallback& progress) {
  return Verification(tensor, budget, threads, progress).run();
}

bool has_trailer(const std::filesystem::path& path) {
  std::uint64_t file_bytes = 0;
  const FileDescriptor file = open_readable(path, file_bytes);
  return has_trailer(file.get(), path, file_bytes);
}

}  // namespace blco
