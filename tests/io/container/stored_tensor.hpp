// Small containers for tests: random tensors as plain columns, written and read back through the code under test.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "io/container/container_reader.hpp"
#include "io/container/container_writer.hpp"
#include "tests/temporary_folder.hpp"

namespace blco::tests {

namespace fs = std::filesystem;

inline void write_file(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

enum class Values { ones, counts, tenths, floats, doubles };

struct TensorSpec {
  std::vector<std::uint64_t> shape;
  std::uint64_t nnz = 0;
  std::uint64_t chunk_nnz = 0;
  Values values = Values::counts;
  int zstd_level = 3;
};

struct Columns {
  std::vector<std::uint64_t> low;
  std::vector<std::uint64_t> key;  // empty where lines have up to 64 bits
  std::vector<double> value;

  friend bool operator==(const Columns&, const Columns&) = default;
};

struct StoredTensor {
  TensorSpec spec;
  ContainerInfo info;
  Columns columns;
  std::vector<std::vector<std::uint64_t>> coordinates;  // per nonzero, in line order
};

inline double random_value(Values kind, std::mt19937_64& random) {
  switch (kind) {
    case Values::ones:
      return 1.0;
    case Values::counts:
      return static_cast<double>(1 + random() % 9);
    case Values::tenths:
      return static_cast<double>(1 + random() % 9999) / 10;
    case Values::floats:
      return static_cast<double>(std::uniform_real_distribution<float>(-2, 2)(random));
    default:
      return std::normal_distribution<double>()(random);
  }
}

// The same nonzeros in the order of these bits.
inline StoredTensor in_order(const StoredTensor& from, const BitModes& bits) {
  const TensorLayout layout(from.spec.shape, bits);
  std::vector<std::pair<LineIndex, std::size_t>> lines;
  for (std::size_t i = 0; i < from.coordinates.size(); ++i) {
    lines.emplace_back(layout.linearize(from.coordinates[i]), i);
  }
  std::sort(lines.begin(), lines.end());
  StoredTensor tensor{from.spec, from.info, {}, {}};
  for (const auto& [line, i] : lines) {
    tensor.columns.low.push_back(line.low);
    if (layout.has_high_word()) tensor.columns.key.push_back(line.key);
    tensor.columns.value.push_back(from.columns.value[i]);
    tensor.coordinates.push_back(from.coordinates[i]);
  }
  return tensor;
}

inline StoredTensor random_tensor(const TensorSpec& spec, std::uint64_t seed = 7) {
  std::mt19937_64 random(seed);
  const TensorLayout layout(spec.shape);
  StoredTensor tensor;
  tensor.spec = spec;
  tensor.info.shape = spec.shape;
  tensor.info.nnz = spec.nnz;
  tensor.info.chunk_nnz = spec.chunk_nnz;
  for (std::size_t n = 0; n < spec.shape.size(); ++n) tensor.info.mode_names.push_back("müde " + std::to_string(n));
  std::vector<std::pair<LineIndex, std::vector<std::uint64_t>>> lines;
  for (std::uint64_t i = 0; i < spec.nnz; ++i) {
    std::vector<std::uint64_t> coordinates;
    for (const std::uint64_t length : spec.shape) coordinates.push_back(random() % length);
    lines.emplace_back(layout.linearize(coordinates), coordinates);
  }
  std::sort(lines.begin(), lines.end());
  for (const auto& [line, coordinates] : lines) {
    tensor.columns.low.push_back(line.low);
    if (layout.has_high_word()) tensor.columns.key.push_back(line.key);
    tensor.columns.value.push_back(random_value(spec.values, random));
    tensor.info.sum_of_squares += tensor.columns.value.back() * tensor.columns.value.back();
    tensor.coordinates.push_back(coordinates);
  }
  return tensor;
}

inline StoredChunk store_chunk(const StoredTensor& tensor, std::uint64_t chunk) {
  const std::size_t first = chunk * tensor.info.chunk_nnz;
  const std::size_t count = tensor.info.nnz_of_chunk(chunk);
  const Columns& columns = tensor.columns;
  const int level = tensor.spec.zstd_level;
  StoredChunk stored;
  stored.columns[0] = store_payload(encode_line_column(std::span(columns.low).subspan(first, count)), level, 10);
  if (!columns.key.empty()) {
    stored.columns[1] = store_payload(encode_line_column(std::span(columns.key).subspan(first, count)), level, 10);
  }
  stored.columns[2] = store_payload(encode_values(std::span(columns.value).subspan(first, count)), level, 10);
  stored.lower = stored.upper = tensor.coordinates[first];
  for (std::size_t i = first; i < first + count; ++i) {
    for (std::size_t n = 0; n < stored.lower.size(); ++n) {
      stored.lower[n] = std::min(stored.lower[n], tensor.coordinates[i][n]);
      stored.upper[n] = std::max(stored.upper[n], tensor.coordinates[i][n]);
    }
  }
  return stored;
}

// With a copy in the order of each mode of `copies`.
inline std::uint64_t write_tensor(const StoredTensor& tensor, const fs::path& path,
                                  const std::vector<int>& copies = {}) {
  ContainerWriter writer(path, tensor.info);
  const auto append = [&](const StoredTensor& from) {
    for (std::uint64_t chunk = 0; chunk < from.info.chunk_count(); ++chunk) writer.append(store_chunk(from, chunk));
  };
  append(tensor);
  for (const int mode : copies) {
    const BitModes bits = bit_modes_of(tensor.spec.shape, mode);
    writer.begin_copy(static_cast<std::uint64_t>(mode), bits);
    append(in_order(tensor, bits));
  }
  return writer.finish(tensor.info);
}

// Exactly as large as the reader asks, so that a sanitizer detects every byte too many.
struct ChunkBuffers {
  ChunkBuffers(const ChunkSource& reader, std::uint64_t chunk)
      : buffer_bytes(reader.buffer_bytes(chunk)), scratch(reader.scratch_bytes(chunk)) {
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, std::max<std::size_t>(64, buffer_bytes))));
  }
  std::span<std::byte> buffer() const { return {memory.get(), buffer_bytes}; }

  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::size_t buffer_bytes;
  std::unique_ptr<std::byte, Free> memory;
  std::vector<std::byte> scratch;
};

template <class T>
std::vector<T> decode_column(const ChunkView& chunk, Column column) {
  std::vector<T> out;
  if (chunk[column].empty()) return out;
  const PayloadView view = view_payload(chunk[column]);
  std::array<T, frame_entries> frame;
  for (std::uint64_t first = 0; first < chunk.nnz; first += frame_entries) {
    if constexpr (std::is_same_v<T, double>) {
      decode_value_frame(view, first / frame_entries, frame.data());
    } else {
      decode_line_frame(view, first / frame_entries, frame.data());
    }
    const auto count = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(frame_entries, chunk.nnz - first));
    out.insert(out.end(), frame.begin(), frame.begin() + count);
  }
  return out;
}

enum class Reading { whole, pieces };

// Reads every second piece on each of two threads, from the last piece on.
inline ChunkView read_pieces(ChunkRead& read) {
  const auto every_second = [&](std::size_t first) {
    for (std::size_t piece = read.pieces(); piece-- > 0;) {
      if (piece % 2 == first) read.read(piece);
    }
  };
  std::thread other(every_second, 1);
  every_second(0);
  other.join();
  return read.finish();
}

inline void read_chunk_into(const ChunkSource& reader, std::uint64_t number, Columns& columns,
                            Reading reading = Reading::whole) {
  ChunkBuffers buffers(reader, number);
  const ChunkView chunk = reading == Reading::whole
                              ? reader.read_chunk(number, buffers.buffer(), buffers.scratch)
                              : read_pieces(*reader.begin_read(number, buffers.buffer(), buffers.scratch));
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(columns.low, decode_column<std::uint64_t>(chunk, Column::index));
  add(columns.key, decode_column<std::uint64_t>(chunk, Column::high_word));
  if (chunk[Column::value].empty()) {
    columns.value.insert(columns.value.end(), chunk.nnz, 1.0);
  } else {
    add(columns.value, decode_column<double>(chunk, Column::value));
  }
}

inline Columns read_columns(const ChunkSource& reader, Reading reading = Reading::whole) {
  Columns columns;
  for (std::uint64_t chunk = 0; chunk < reader.info().chunk_count(); ++chunk) {
    read_chunk_into(reader, chunk, columns, reading);
  }
  return columns;
}

}  // namespace blco::tests
