// Checks the guarantees of every batch of a reader, and collects all that a reader returns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/coordinate_reader.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace blco::fuzz {

// Each is found from the beginning of its block.
constexpr std::size_t max_places = 500;

struct Entries {
  std::vector<std::uint64_t> coordinates;
  std::vector<double> values;
  std::vector<std::uint64_t> shape;
  std::vector<Labels> labels;                                  // per mode, where there are any
  std::vector<std::pair<std::string, std::uint64_t>> skipped;  // rows, per column
  std::vector<std::string> places;                             // of the first entries
  std::string refusal;                                         // empty where all was read

  friend bool operator==(const Entries&, const Entries&) = default;
};

inline void require_batch(const CoordinateBatch& batch) {
  const auto order = static_cast<std::size_t>(batch.order);
  require(order >= 1 && order <= 16 && batch.count() > 0 && batch.upper.size() == order);
  const std::size_t coordinates = batch.count() * order;
  const bool is_wide = *std::ranges::max_element(batch.upper) >> 32 != 0;
  require(batch.narrow.size() == (is_wide ? 0 : coordinates) && batch.wide.size() == (is_wide ? coordinates : 0));
  std::vector<std::uint64_t> upper(order);
  for (std::size_t i = 0; i < batch.count(); ++i) {
    require(std::isfinite(batch.values[i]));
    for (std::size_t n = 0; n < order; ++n) {
      upper[n] = std::max(upper[n], batch.coordinate(i, static_cast<int>(n)));
    }
  }
  require(upper == batch.upper && *std::ranges::max_element(upper) != UINT64_MAX);
}

// `open` makes the reader. Entries that come before a refusal are kept.
template <class Open>
Entries read_entries(const Open& open) {
  Entries entries;
  entries.refusal = refusal_of([&] {
    const auto reader = open();
    const InputSize size = reader->size();
    CoordinateBatch batch;
    while (reader->next(batch)) {
      require_batch(batch);
      for (std::size_t i = 0; i < batch.count(); ++i) {
        for (int n = 0; n < batch.order; ++n) entries.coordinates.push_back(batch.coordinate(i, n));
        if (entries.places.size() < max_places) entries.places.push_back(reader->place_of(i));
      }
      entries.values.insert(entries.values.end(), batch.values.begin(), batch.values.end());
    }
    require(size.entries == 0 || size.entries == entries.values.size());
    entries.shape = reader->declared_shape();
    require(!reader->format().empty());
    entries.labels = reader->take_labels();
    for (const SkippedRows& skipped : reader->skipped_rows())
      entries.skipped.emplace_back(skipped.column, skipped.rows);
  });
  return entries;
}

}  // namespace blco::fuzz
