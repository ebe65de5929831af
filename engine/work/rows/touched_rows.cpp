#include "engine/work/rows/touched_rows.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <memory>

#include "engine/tensor/nonzero_reader.hpp"

namespace blco {

namespace {

std::vector<IndexRange> whole_modes(const std::vector<std::uint64_t>& shape) {
  std::vector<IndexRange> ranges;
  for (const std::uint64_t length : shape) ranges.push_back({0, length});
  return ranges;
}

// The bits of rows from `begin` to `end` - 1 in the word that has row `begin`.
std::uint64_t mask_of(std::uint64_t begin, std::uint64_t end) {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  const std::uint64_t first = begin % TouchedRows::word_rows;
  const std::uint64_t count = std::min(end - begin, TouchedRows::word_rows - first);
  return (count == TouchedRows::word_rows ? all : (std::uint64_t{1} << count) - 1) << first;
}

}  // namespace

TouchedRows::TouchedRows(const std::vector<std::uint64_t>& shape, const MemorySource& memory)
    : TouchedRows(whole_modes(shape), memory) {}

TouchedRows::TouchedRows(std::span<const IndexRange> ranges, const MemorySource& memory) {
  std::size_t words = 0;
  for (const IndexRange& range : ranges) {
    places_.push_back({words, range.begin / word_rows});
    const std::uint64_t end = (range.end + word_rows - 1) / word_rows;
    words += range.begin == range.end ? 0 : static_cast<std::size_t>(end - range.begin / word_rows);
  }
  words_ = memory.vector<std::uint64_t>(words);
}

void TouchedRows::add(std::size_t mode, std::uint64_t row) {
  const std::atomic_ref<std::uint64_t> word(words_[word_of(mode, row)]);
  const std::uint64_t bit = std::uint64_t{1} << row % word_rows;
  // Most are set already.
  if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
}

TouchedRows TouchedRows::of_nonzeros(const ChunkSource& chunks, ThreadPool& pool) {
  TouchedRows rows(chunks.info().shape);
  constexpr std::size_t frames_at_once = 1024;
  NonzeroReader reader(chunks, 1, pool);
  while (chunks.info().nnz > 0 && reader.next(frames_at_once)) {
    const std::size_t frames = reader.frames();
    const auto parts = static_cast<std::size_t>(pool.width());
    pool.run(parts, [&](std::size_t part) {
      const auto frame = std::make_unique<NonzeroFrame>();
      for (std::size_t f = frames * part / parts; f < frames * (part + 1) / parts; ++f) {
        reader.decode(f, *frame);
        for (std::size_t mode = 0; mode < chunks.info().shape.size(); ++mode) {
          for (std::size_t i = 0; i < frame->count; ++i) rows.add(mode, frame->coordinates[mode][i]);
        }
      }
    });
  }
  return rows;
}

TouchedRows TouchedRows::between_bounds(const ChunkSource& chunks) {
  TouchedRows rows(chunks.info().shape);
  for (std::uint64_t chunk = 0; chunk < chunks.info().chunk_count(); ++chunk) {
    for (std::size_t mode = 0; mode < chunks.info().shape.size(); ++mode) {
      rows.add(mode, {chunks.lower(chunk)[mode], chunks.upper(chunk)[mode] + 1});
    }
  }
  return rows;
}

TouchedRows TouchedRows::all(const std::vector<std::uint64_t>& shape) {
  TouchedRows rows(shape);
  rows.add(whole_modes(shape));
  return rows;
}

void TouchedRows::add(std::size_t mode, const IndexRange& rows) {
  for (std::uint64_t row = rows.begin; row < rows.end; row = (row / word_rows + 1) * word_rows) {
    words_[word_of(mode, row)] |= mask_of(row, rows.end);
  }
}

void TouchedRows::add(std::span<const IndexRange> rows) {
  for (std::size_t mode = 0; mode < rows.size(); ++mode) add(mode, rows[mode]);
}

std::uint64_t TouchedRows::count(std::size_t mode, const IndexRange& rows) const {
  std::uint64_t count = 0;
  for (std::uint64_t row = rows.begin; row < rows.end; row = (row / word_rows + 1) * word_rows) {
    count += static_cast<std::uint64_t>(std::popcount(words_[word_of(mode, row)] & mask_of(row, rows.end)));
  }
  return count;
}

std::vector<double> TouchedRows::counts(const std::vector<std::uint64_t>& shape) const {
  std::vector<double> counts;
  for (std::size_t mode = 0; mode < shape.size(); ++mode) {
    const std::uint64_t unit = unit_rows(shape[mode]);
    for (std::uint64_t row = 0; row < shape[mode]; row += unit) {
      counts.push_back(static_cast<double>(count(mode, {row, std::min(row + unit, shape[mode])})));
    }
  }
  return counts;
}

std::vector<std::shared_ptr<const RowIndex>> TouchedRows::index(const std::vector<std::uint64_t>& shape) const {
  std::vector<std::shared_ptr<const RowIndex>> indices;
  std::uint64_t all = 0;
  std::uint64_t held = 0;
  for (std::size_t mode = 0; mode < places_.size(); ++mode) {
    const std::size_t end = mode + 1 < places_.size() ? places_[mode + 1].first : words_.size();
    const auto words = std::span(words_).subspan(places_[mode].first, end - places_[mode].first);
    const std::uint64_t of_mode = count(mode, {0, shape[mode]});
    indices.push_back(of_mode == shape[mode] ? nullptr : std::make_shared<const RowIndex>(words));
    all += shape[mode];
    held += of_mode;
  }
  if (held > all / 2) indices.clear();
  return indices;
}

TouchedRows TouchedRows::part(std::span<const IndexRange> ranges) const {
  TouchedRows part(ranges);
  for (std::size_t mode = 0; mode < ranges.size(); ++mode) {
    if (ranges[mode].begin == ranges[mode].end) continue;
    const std::size_t first = word_of(mode, ranges[mode].begin);
    const std::size_t count = word_of(mode, ranges[mode].end - 1) + 1 - first;
    std::copy_n(words_.begin() + static_cast<std::ptrdiff_t>(first), count,
                part.words_.begin() + static_cast<std::ptrdiff_t>(part.places_[mode].first));
  }
  return part;
}

}  // namespace blco
