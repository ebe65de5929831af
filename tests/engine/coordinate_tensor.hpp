// A tensor as a plain list of coordinates: the form in which the engine's tests think.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iomanip>
#include <map>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "io/container/container_reader.hpp"

namespace blco {

using Point = std::vector<std::uint64_t>;

struct CoordinateTensor {
  std::vector<std::uint64_t> shape;
  std::vector<Point> points;  // zero-based
  std::vector<double> values;
};

struct RandomTensor {
  std::vector<std::uint64_t> shape = {};
  std::size_t nnz = 0;
  std::uint64_t seed = 1;
  bool counts = false;
};

// Coordinates may repeat.
inline CoordinateTensor random_coordinates(const RandomTensor& options) {
  std::mt19937_64 random(options.seed);
  CoordinateTensor tensor{options.shape, {}, {}};
  for (std::size_t i = 0; i < options.nnz; ++i) {
    Point point;
    for (const std::uint64_t length : options.shape) point.push_back(i == 0 ? length - 1 : random() % length);
    tensor.points.push_back(point);
    tensor.values.push_back(options.counts ? static_cast<double>(1 + random() % 9)
                                           : std::normal_distribution<double>()(random));
  }
  return tensor;
}

inline std::string as_text(const CoordinateTensor& tensor) {
  std::ostringstream text;
  text << std::setprecision(17);
  for (std::size_t i = 0; i < tensor.points.size(); ++i) {
    for (const std::uint64_t coordinate : tensor.points[i]) text << coordinate + 1 << ' ';
    text << tensor.values[i] << '\n';
  }
  return text.str();
}

// Left to right, as ingest coalesces by default.
inline std::map<Point, double> summed(const CoordinateTensor& tensor) {
  std::map<Point, double> sums;
  for (std::size_t i = 0; i < tensor.points.size(); ++i) {
    const auto [at, fresh] = sums.try_emplace(tensor.points[i], tensor.values[i]);
    if (!fresh) at->second += tensor.values[i];
  }
  return sums;
}

// Everything in a container, in its order.
inline CoordinateTensor read_container(const std::filesystem::path& path) {
  const ContainerReader reader(path);
  const TensorLayout layout(reader.info().shape);
  CoordinateTensor tensor{reader.info().shape, {}, {}};
  for (std::uint64_t c = 0; c < reader.info().chunk_count(); ++c) {
    std::vector<std::uint64_t> buffer(reader.buffer_bytes(c) / 8 + 8);
    void* start = buffer.data();
    std::size_t room = buffer.size() * 8;
    std::align(64, reader.buffer_bytes(c), start, room);
    std::vector<std::byte> scratch(reader.scratch_bytes(c));
    const ChunkView chunk = reader.read_chunk(c, {static_cast<std::byte*>(start), room}, scratch);
    const auto decode_lines = [&](Column column) {
      std::vector<std::uint64_t> lines((chunk.nnz + 255) / 256 * 256, 0);
      if (chunk[column].empty()) return lines;
      const PayloadView view = view_payload(chunk[column]);
      for (std::uint64_t f = 0; f < lines.size() / 256; ++f) decode_line_frame(view, f, lines.data() + 256 * f);
      return lines;
    };
    const auto low = decode_lines(Column::index);
    const auto key = decode_lines(Column::high_word);
    std::vector<double> values(low.size(), 1.0);
    if (!chunk[Column::value].empty()) {
      const PayloadView view = view_payload(chunk[Column::value]);
      for (std::uint64_t f = 0; f < values.size() / 256; ++f) decode_value_frame(view, f, values.data() + 256 * f);
    }
    for (std::uint64_t i = 0; i < chunk.nnz; ++i) {
      Point point(tensor.shape.size());
      layout.delinearize({key[i], low[i]}, point);
      tensor.points.push_back(point);
      tensor.values.push_back(values[i]);
    }
  }
  return tensor;
}

inline std::map<Point, double> as_map(const CoordinateTensor& tensor) {
  std::map<Point, double> map;
  for (std::size_t i = 0; i < tensor.points.size(); ++i) map[tensor.points[i]] = tensor.values[i];
  return map;
}

}  // namespace blco
