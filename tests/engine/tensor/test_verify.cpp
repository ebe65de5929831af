// Containers that break a promise of their format although every checksum is right.
#include <blco/verify.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "tests/io/container/stored_tensor.hpp"
#include "tests/io/expect_error.hpp"

namespace blco::tests {
namespace {

using Coordinates = std::vector<std::uint64_t>;

// Four chunks of a tensor with coordinates and values that a test may bend before it is written.
class VerifyTensor : public testing::TestWithParam<Coordinates> {
 protected:
  explicit VerifyTensor(const Coordinates& shape = {50, 60, 70})
      : tensor_(random_tensor({shape, 1000, 270, Values::doubles, 3})) {
    remove_duplicates();
  }

  void remove_duplicates() {
    std::vector<Coordinates> coordinates;
    for (const Coordinates& point : tensor_.coordinates) {
      if (coordinates.empty() || coordinates.back() != point) coordinates.push_back(point);
    }
    tensor_.columns.value.resize(coordinates.size());
    tensor_.coordinates = std::move(coordinates);
    tensor_.info.nnz = tensor_.coordinates.size();
    rebuild();
  }

  // Line indices and the sum from coordinates and values, in whatever order they are.
  void rebuild() {
    const TensorLayout layout(tensor_.info.shape);
    tensor_.columns.low.clear();
    tensor_.columns.key.clear();
    for (const Coordinates& point : tensor_.coordinates) {
      const LineIndex line = layout.linearize(point);
      tensor_.columns.low.push_back(line.low);
      if (layout.has_high_word()) tensor_.columns.key.push_back(line.key);
    }
    tensor_.info.sum_of_squares = 0;
    for (const double value : tensor_.columns.value) tensor_.info.sum_of_squares += value * value;
  }

  void write(const std::function<void(StoredChunk&, std::uint64_t)>& bend = {}) const {
    ContainerWriter writer(path_, tensor_.info);
    for (std::uint64_t chunk = 0; chunk < tensor_.info.chunk_count(); ++chunk) {
      StoredChunk stored = store_chunk(tensor_, chunk);
      if (bend) bend(stored, chunk);
      writer.append(stored);
    }
    writer.finish(tensor_.info);
  }

  void expect_refused(const std::string& words) const {
    for (const int threads : {1, 3}) {
      expect_error(ErrorKind::corrupt, path_.string() + ": " + words, [&] { verify(TensorFile(path_), {}, threads); });
    }
  }

  TemporaryFolder folder_;
  fs::path path_ = folder_ / "t.blco";
  StoredTensor tensor_;
};

class AnyShape : public VerifyTensor {
 protected:
  AnyShape() : VerifyTensor(GetParam()) {}
};

TEST_P(AnyShape, AcceptsWhatIsRight) {
  write();

  const VerifiedTensor verified = verify(TensorFile(path_));

  EXPECT_EQ(verified.chunks, tensor_.info.chunk_count());
  EXPECT_EQ(verified.nonzeros, tensor_.info.nnz);
  EXPECT_GT(verified.stored_bytes, 0u);
}

TEST_P(AnyShape, RefusesDuplicatesWithinAChunk) {
  tensor_.coordinates[301] = tensor_.coordinates[300];
  rebuild();
  write();

  expect_refused("chunk 1, nonzero 31 at (");
}

INSTANTIATE_TEST_SUITE_P(, AnyShape,
                         testing::Values(Coordinates{50, 60, 70}, Coordinates{1ULL << 33, 1ULL << 40, 50},
                                         Coordinates{1ULL << 62}, Coordinates{1, 5000, 1, 9, 1, 1, 77}));

TEST_F(VerifyTensor, RefusesNonzerosOutOfOrder) {
  std::swap(tensor_.coordinates[600], tensor_.coordinates[601]);
  rebuild();
  write();

  expect_refused("chunk 2, nonzero 61 at (");
}

TEST_F(VerifyTensor, RefusesDuplicatesAcrossChunks) {
  tensor_.coordinates[270] = tensor_.coordinates[269];
  rebuild();
  write();

  expect_refused("chunk 1 starts at the coordinates at which the chunk before it ends");
}

TEST_F(VerifyTensor, RefusesChunksInTheWrongOrder) {
  for (std::size_t i = 0; i < 270; ++i) std::swap(tensor_.coordinates[i], tensor_.coordinates[270 + i]);
  rebuild();
  write();

  expect_refused("chunk 1 starts below the line index at which the chunk before it ends");
}

TEST_F(VerifyTensor, RefusesCoordinatesOutsideTheShape) {
  // 63 is a number that six bits hold, and beyond a mode of length 50; it is above all others in line order.
  tensor_.coordinates.back() = {63, 59, 69};
  rebuild();
  write([](StoredChunk& chunk, std::uint64_t) { chunk.upper[0] = std::min<std::uint64_t>(chunk.upper[0], 49); });

  expect_refused("chunk 3, nonzero " + std::to_string(tensor_.info.nnz - 3 * 270 - 1) +
                 " at (63, 59, 69), counted from 0: mode 0 has the length 50");
}

TEST_F(VerifyTensor, RefusesLineIndicesWithBitsOfNoMode) {
  tensor_.columns.low.back() |= std::uint64_t{1} << 40;
  write();

  expect_refused("chunk 3, nonzero ");
}

TEST_F(VerifyTensor, RefusesBoundsThatLeaveSomethingOut) {
  write([](StoredChunk& chunk, std::uint64_t number) {
    if (number == 2) --chunk.upper[1];
  });

  expect_refused("chunk 2, nonzero ");
}

TEST_F(VerifyTensor, RefusesBoundsThatAreNotTight) {
  write([&](StoredChunk& chunk, std::uint64_t number) {
    if (number != 0) return;
    const std::size_t mode = chunk.upper[2] + 1 < tensor_.info.shape[2] ? 2 : 1;
    ++chunk.upper[mode];
  });

  expect_refused("chunk 0: the bounds of mode ");
}

TEST_F(VerifyTensor, RefusesAWrongSumOfSquares) {
  tensor_.info.sum_of_squares *= 1 + 1e-9;
  write();

  expect_refused("sum_of_squares is ");
}

TEST_F(VerifyTensor, RefusesValuesThatAreNotFinite) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    const double good = std::exchange(tensor_.columns.value[555], bad);
    write();

    expect_refused("chunk 2, nonzero 15 at (");
    tensor_.columns.value[555] = good;
  }
}

TEST_F(VerifyTensor, NamesTheLowestOfSeveralBadChunks) {
  write([](StoredChunk& chunk, std::uint64_t number) {
    if (number >= 1) --chunk.upper[1];
  });

  for (int repeat = 0; repeat < 20; ++repeat) expect_refused("chunk 1, nonzero ");
}

TEST_F(VerifyTensor, RefusesAFlippedBit) {
  write();
  const StoredExtent extent = ContainerReader(path_).extents(2)[2];
  std::string bytes = file_contents(path_);
  bytes[extent.address + extent.stored_bytes / 2] ^= 4;
  write_file(path_, bytes);

  expect_refused("chunk 2, column value: ");
}

TEST_F(VerifyTensor, RefusesAFileThatWasCutOffBeforeItsTrailer) {
  write();
  const std::string whole = file_contents(path_);
  const std::size_t trailer = whole.find("BLCOTAIL");
  ASSERT_EQ(whole.find("BLCOTAIL", trailer + 1), std::string::npos);
  ASSERT_TRUE(has_trailer(path_));

  write_file(path_, whole.substr(0, trailer));

  EXPECT_FALSE(has_trailer(path_));
  expect_refused("its trailer, the checksum");
}

TEST_F(VerifyTensor, TellsProgressAndCanBeCancelled) {
  write();
  std::vector<Progress> seen;

  verify(TensorFile(path_), {}, 2, [&](const Progress& progress) {
    seen.push_back(progress);
    return true;
  });
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back().share, 1);
  EXPECT_EQ(seen.back().nonzeros, tensor_.info.nnz);
  EXPECT_STREQ(seen.back().stage, "verify");

  expect_error(ErrorKind::cancelled, "stage \"verify\"",
               [&] { verify(TensorFile(path_), {}, 2, [](const Progress&) { return false; }); });
}

}  // namespace
}  // namespace blco::tests
