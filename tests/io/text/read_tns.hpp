// Reads FROSTT text in tests: on real threads, checking what every batch promises.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "io/text/tns_reader.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {

using Paths = std::vector<std::filesystem::path>;

struct Entries {
  int order = 0;
  std::vector<std::uint64_t> coordinates;
  std::vector<double> values;
  std::vector<std::size_t> batch_counts;
  std::vector<bool> batch_is_wide;
  std::vector<std::uint64_t> declared_shape;
  std::vector<std::string> notes;

  bool operator==(const Entries&) const = default;
};

// Checks what every batch promises.
inline void check_batch(const CoordinateBatch& batch) {
  std::vector<std::uint64_t> upper(static_cast<std::size_t>(batch.order));
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < batch.count(); ++i) {
    for (int mode = 0; mode < batch.order; ++mode) {
      std::uint64_t& bound = upper[static_cast<std::size_t>(mode)];
      bound = std::max(bound, batch.coordinate(i, mode));
      largest = std::max(largest, bound);
    }
  }
  const bool wide = largest > 0xffffffff;
  const std::size_t coordinates = batch.count() * static_cast<std::size_t>(batch.order);
  EXPECT_GT(batch.count(), 0U);
  EXPECT_EQ(batch.upper, upper);
  EXPECT_EQ(batch.narrow.size(), wide ? 0 : coordinates);
  EXPECT_EQ(batch.wide.size(), wide ? coordinates : 0);
  EXPECT_EQ(batch.bytes(), coordinates * (wide ? 8 : 4) + batch.count() * 8);
}

inline Entries read_all(const Paths& files, const TnsOptions& options = {}, int threads = 1) {
  ThreadExecutor executor(threads);
  const auto reader = open_tns(files, options, executor);
  Entries entries;
  CoordinateBatch batch;
  while (reader->next(batch)) {
    check_batch(batch);
    entries.order = batch.order;
    for (std::size_t i = 0; i < batch.count(); ++i) {
      for (int mode = 0; mode < batch.order; ++mode) entries.coordinates.push_back(batch.coordinate(i, mode));
    }
    entries.values.insert(entries.values.end(), batch.values.begin(), batch.values.end());
    entries.batch_counts.push_back(batch.count());
    entries.batch_is_wide.push_back(!batch.wide.empty());
  }
  EXPECT_FALSE(reader->next(batch));
  entries.declared_shape = reader->declared_shape();
  entries.notes = reader->notes();
  return entries;
}

inline std::string refusal(const Paths& files, const TnsOptions& options = {}, int threads = 1) {
  return message_of_error(ErrorKind::invalid_argument, [&] { read_all(files, options, threads); });
}

inline std::uint64_t bits(double value) { return std::bit_cast<std::uint64_t>(value); }

class TnsText : public ::testing::Test {
 protected:
  Entries read(const std::string& text, const TnsOptions& options = {}) const {
    return read_all({folder_.write("a.tns", text)}, options);
  }
  std::string refused(const std::string& text, const TnsOptions& options = {}) const {
    return refusal({folder_.write("a.tns", text)}, options);
  }
  std::string place(int line) const { return "line " + std::to_string(line) + " of " + (folder_ / "a.tns").string(); }

  TemporaryFolder folder_;
};

}  // namespace blco
