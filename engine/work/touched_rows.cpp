#include "engine/work/touched_rows.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "blco/error.hpp"
#include "engine/tensor/nonzero_reader.hpp"

namespace blco {

TouchedRows::TouchedRows(const std::vector<std::uint64_t>& shape, const MemorySource& memory) {
  first_words_ = {0};
  for (const std::uint64_t length : shape) {
    first_words_.push_back(first_words_.back() + static_cast<std::size_t>((length + 63) / 64));
  }
  words_ = memory.vector<std::uint64_t>(first_words_.back());
}

void TouchedRows::add(std::size_t mode, std::uint64_t row) {
  const std::atomic_ref<std::uint64_t> word(words_[first_words_[mode] + row / 64]);
  const std::uint64_t bit = std::uint64_t{1} << row % 64;
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
      for (std::uint64_t row = chunks.lower(chunk)[mode]; row <= chunks.upper(chunk)[mode]; ++row) rows.add(mode, row);
    }
  }
  return rows;
}

TouchedRows TouchedRows::all(const std::vector<std::uint64_t>& shape) {
  TouchedRows rows(shape);
  std::ranges::fill(rows.words_, ~std::uint64_t{0});
  for (std::size_t mode = 0; mode < shape.size(); ++mode) {
    if (shape[mode] % 64 != 0) rows.words_[rows.first_words_[mode + 1] - 1] >>= 64 - shape[mode] % 64;
  }
  return rows;
}

void TouchedRows::add(const TouchedRows& others) {
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= others.words_[i];
}

void TouchedRows::set_words(std::span<const std::uint64_t> words) {
  if (words.size() != words_.size()) throw Error(ErrorKind::io, "another process has sent rows of another tensor");
  std::ranges::copy(words, words_.begin());
}

}  // namespace blco
