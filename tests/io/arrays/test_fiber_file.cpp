// Fibers in a file, read back by HDF5.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "blco/error.hpp"
#include "io/arrays/fiber_file.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

TEST(FiberFile, HasTheFibersOfAllBlocks) {
  const TemporaryFolder folder;
  std::vector<std::uint64_t> points;
  std::vector<double> numbers;
  FiberFileWriter writer(folder / "fibers.h5", {9, 40'000, 5}, 1, 3);
  for (const std::uint64_t count : {1U, 0U, 20'000U, 7U}) {
    std::vector<std::uint64_t> first(count);
    std::vector<std::uint64_t> last(count);
    std::iota(first.begin(), first.end(), points.size());
    std::iota(last.begin(), last.end(), 3 * points.size());
    std::vector<double> rows(3 * count);
    std::iota(rows.begin(), rows.end(), 0.5 + static_cast<double>(numbers.size()));
    const std::vector<std::span<const std::uint64_t>> coordinates{first, last};
    writer.add(coordinates, rows);
    for (std::size_t i = 0; i < count; ++i) points.insert(points.end(), {first[i], last[i]});
    numbers.insert(numbers.end(), rows.begin(), rows.end());
  }
  writer.publish();

  const Hdf5Place place{folder / "fibers.h5", ErrorKind::corrupt};
  std::uint64_t bytes = 0;
  const Hdf5Id file = open_hdf5_file(place, &bytes);
  EXPECT_EQ(read_text(place, file.get(), "format", 99), "blco-fibers");
  EXPECT_EQ(read_integers(place, file.get(), "shape", 16), (std::vector<std::uint64_t>{9, 40'000, 5}));
  EXPECT_EQ(read_integer(place, file.get(), "mode"), 1U);
  EXPECT_EQ(read_dataset<std::uint64_t>(place, file.get(), "coordinates", {20'008, 2}, bytes), points);
  EXPECT_EQ(read_dataset<double>(place, file.get(), "rows", {20'008, 3}, bytes), numbers);
}

TEST(FiberFile, LeavesNothingBehindUnlessItIsPublished) {
  const TemporaryFolder folder;
  const std::vector<std::uint64_t> first(4);
  const std::vector<std::span<const std::uint64_t>> coordinates{first};
  {
    FiberFileWriter writer(folder / "fibers.h5", {9, 5}, 1, 1);
    writer.add(coordinates, std::vector<double>(4));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace blco
