// Walks over nonzeros and saved tensors against the coordinates that were put in, in files and in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <blco/export.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/nonzeros.hpp>
#include <blco/statistics.hpp>
#include <blco/tensor_file.hpp>
#include <blco/verify.hpp>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "engine/tensor/tensor_chunks.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/stream/named_budget.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/two_to.hpp"

namespace blco {
namespace {

__extension__ using Line = unsigned __int128;

// From the format's words: bit by bit of all modes, upward, the mode with fewer bits first.
Line line_of(const Point& point, const std::vector<std::uint64_t>& shape) {
  std::vector<std::pair<int, std::size_t>> modes;
  for (std::size_t n = 0; n < shape.size(); ++n) modes.emplace_back(std::bit_width(shape[n] - 1), n);
  std::ranges::sort(modes);
  Line line = 0;
  int position = 0;
  for (int level = 0; level < modes.back().first; ++level) {
    for (const auto& [bits, n] : modes) {
      if (level < bits) line |= Line{point[n] >> level & 1} << position++;
    }
  }
  return line;
}

// The distinct entries in line order.
CoordinateTensor sorted(const CoordinateTensor& input) {
  std::map<Line, std::pair<Point, double>> lines;
  for (const auto& [point, value] : summed(input)) lines[line_of(point, input.shape)] = {point, value};
  CoordinateTensor tensor{input.shape, {}, {}};
  for (const auto& [line, entry] : lines) {
    tensor.points.push_back(entry.first);
    tensor.values.push_back(entry.second);
  }
  return tensor;
}

void append(const NonzeroBlock& block, CoordinateTensor& tensor) {
  for (std::size_t i = 0; i < block.count(); ++i) {
    Point point;
    for (const auto& column : block.coordinates) point.push_back(column[i]);
    tensor.points.push_back(point);
    tensor.values.push_back(block.values[i]);
  }
}

CoordinateTensor read_in_order(const Tensor& tensor) {
  CoordinateTensor in_order;
  for_each_nonzero(tensor, [&](const NonzeroBlock& block) {
    append(block, in_order);
    return true;
  });
  return in_order;
}

CoordinateTensor rows_of(const NonzeroColumns& columns) {
  CoordinateTensor tensor;
  std::vector<std::span<const std::uint64_t>> coordinates(columns.coordinates.begin(), columns.coordinates.end());
  append({0, coordinates, columns.values}, tensor);
  return tensor;
}

struct StoredCase {
  std::vector<std::uint64_t> shape;
  std::size_t nnz;
  Reorder reorder = Reorder::none;
};

// 20 chunks or one, of 1000 nonzeros; the last is shorter.
class Nonzeros : public testing::TestWithParam<StoredCase> {
 protected:
  IngestOptions options() const {
    return {.shape = GetParam().shape, .reorder = GetParam().reorder, .chunk_nnz = 1000};
  }

  // In a file, and in memory.
  std::vector<std::unique_ptr<Tensor>> tensors() const {
    ingest_coordinates(columns_.arrays(), path_, options());
    std::vector<std::unique_ptr<Tensor>> both;
    both.push_back(std::make_unique<TensorFile>(path_));
    both.push_back(std::make_unique<MemoryTensor>(columns_.arrays(), options()));
    return both;
  }

  CoordinateTensor input_ = random_coordinates({.shape = GetParam().shape, .nnz = GetParam().nnz, .seed = 5});
  CoordinateColumns<> columns_{input_};
  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "t.blco";
};

const std::vector<std::uint64_t> wide_shape(4, two_to(18));  // 72 bits: many key blocks
INSTANTIATE_TEST_SUITE_P(Stored, Nonzeros,
                         testing::Values(StoredCase{{30, 40, 50}, 19'500}, StoredCase{{5000}, 1},
                                         StoredCase{wide_shape, 19'500},
                                         StoredCase{{300, 40, 50}, 19'500, Reorder::frequency},
                                         StoredCase{wide_shape, 5000, Reorder::frequency}));

TEST_P(Nonzeros, ComeInTheOrderOfTheirLines) {
  const bool is_reordered = GetParam().reorder != Reorder::none;
  const CoordinateTensor expected = sorted(input_);
  for (const auto& tensor : tensors()) {
    for (const int threads : {1, 3}) {
      CoordinateTensor actual;
      const auto visit = [&](const NonzeroBlock& block) {
        EXPECT_EQ(block.first, actual.points.size());
        append(block, actual);
        return true;
      };

      for_each_nonzero(*tensor, visit, {.threads = threads});

      if (is_reordered) {  // then lines are those of the new numbers
        EXPECT_EQ(actual.points.size(), expected.points.size());
        EXPECT_EQ(as_map(actual), summed(input_));
      } else {
        EXPECT_EQ(actual.points, expected.points);
        EXPECT_EQ(actual.values, expected.values);
      }
    }
  }
}

TEST_P(Nonzeros, AreTheSameInAnyOrder) {
  for (const auto& tensor : tensors()) {
    const CoordinateTensor in_order = read_in_order(*tensor);
    std::mutex mutex;
    std::map<std::uint64_t, CoordinateTensor> blocks;
    const auto visit = [&](const NonzeroBlock& block) {
      const std::lock_guard lock(mutex);
      append(block, blocks[block.first]);
      return true;
    };

    for_each_nonzero(*tensor, visit, {.in_order = false, .threads = 3});

    CoordinateTensor joined;
    for (const auto& [first, block] : blocks) {
      EXPECT_EQ(first, joined.points.size());
      joined.points.insert(joined.points.end(), block.points.begin(), block.points.end());
      joined.values.insert(joined.values.end(), block.values.begin(), block.values.end());
    }
    EXPECT_EQ(joined.points, in_order.points);
    EXPECT_EQ(joined.values, in_order.values);
    const CoordinateTensor columns = rows_of(read_coordinates(*tensor, {.threads = 2}));
    EXPECT_EQ(columns.points, in_order.points);
    EXPECT_EQ(columns.values, in_order.values);
  }
}

TEST_P(Nonzeros, ComeAChunkAtATimeFromACursor) {
  for (const auto& tensor : tensors()) {
    const CoordinateTensor in_order = read_in_order(*tensor);
    for (const int threads : {1, 3}) {
      NonzeroCursor cursor(*tensor, {.threads = threads});
      CoordinateTensor actual;

      std::vector<std::size_t> sizes;
      for (NonzeroColumns columns = cursor.next(); !columns.values.empty(); columns = cursor.next()) {
        sizes.push_back(columns.values.size());
        const CoordinateTensor rows = rows_of(columns);
        actual.points.insert(actual.points.end(), rows.points.begin(), rows.points.end());
        actual.values.insert(actual.values.end(), rows.values.begin(), rows.values.end());
      }

      EXPECT_EQ(actual.points, in_order.points);
      EXPECT_EQ(actual.values, in_order.values);
      ASSERT_EQ(sizes.size(), tensor->summary().chunk_count);
      sizes.pop_back();
      EXPECT_THAT(sizes, testing::Each(1000));
      EXPECT_TRUE(cursor.next().values.empty());
    }
    expect_error(ErrorKind::out_of_memory, "`memory_bytes", [&] { NonzeroCursor(*tensor, {.memory_bytes = 1000}); });
  }
}

TEST_P(Nonzeros, FitTheBudgetThatARefusalNames) {
  for (const auto& tensor : tensors()) {
    for (const bool in_order : {true, false}) {
      const auto count = [&](std::uint64_t bytes) {
        std::atomic<std::size_t> nonzeros = 0;
        const auto visit = [&](const NonzeroBlock& block) {
          nonzeros += block.count();
          return true;
        };
        for_each_nonzero(*tensor, visit, {.in_order = in_order, .memory_bytes = bytes, .threads = 8});
        return nonzeros.load();
      };

      const std::uint64_t named = named_budget([&] { count(1); });

      EXPECT_EQ(count(named), tensor->summary().nnz);
      expect_error(ErrorKind::out_of_memory, "memory_bytes", [&] { count(named - 1024); });
    }
    const std::uint64_t named = named_budget([&] { read_coordinates(*tensor, {.memory_bytes = 1}); });
    EXPECT_GT(named, 8 * (input_.shape.size() + 1) * tensor->summary().nnz);
    EXPECT_EQ(rows_of(read_coordinates(*tensor, {.memory_bytes = named})).points.size(), tensor->summary().nnz);
  }
}

TEST_P(Nonzeros, StopWhenTheVisitorSaysSoOrThrows) {
  for (const auto& tensor : tensors()) {
    for (const bool in_order : {true, false}) {
      std::atomic<int> calls = 0;
      const NonzeroOptions options{.in_order = in_order, .threads = 1};

      for_each_nonzero(
          *tensor, [&](const NonzeroBlock&) { return ++calls < 1; }, options);

      EXPECT_EQ(calls, 1);
      const auto fail = [](const NonzeroBlock&) -> bool { throw std::runtime_error("enough"); };
      EXPECT_THROW(for_each_nonzero(*tensor, fail, options), std::runtime_error);
      expect_error(ErrorKind::cancelled, "stage \"read\"", [&] {
        for_each_nonzero(
            *tensor, [](const NonzeroBlock&) { return true; }, options, [](const Progress&) { return false; });
      });
    }
  }
}

TEST_P(Nonzeros, InMemoryAreSavedAsTheBytesOfIngest) {
  const auto tensor = tensors();
  const std::string expected = file_contents(path_);

  save(*tensor[1], folder_ / "memory.blco", {.threads = 3});
  save(*tensor[0], folder_ / "file.blco", {.threads = 1});

  EXPECT_EQ(file_contents(folder_ / "memory.blco"), expected);
  EXPECT_EQ(file_contents(folder_ / "file.blco"), expected);
  EXPECT_NO_THROW(verify(TensorFile(folder_ / "memory.blco")));
  IngestOptions packed = options();
  packed.zstd_level = 0;
  ingest_coordinates(columns_.arrays(), folder_ / "packed.blco", packed);
  save(*tensor[0], folder_ / "unpacked.blco", {.zstd_level = 0});
  EXPECT_EQ(file_contents(folder_ / "unpacked.blco"), file_contents(folder_ / "packed.blco"));
}

TEST_P(Nonzeros, InMemoryAreMeasuredVerifiedAndExportedAsInAFile) {
  const auto tensor = tensors();
  const auto text_of = [](const Tensor& of) {
    std::string text;
    export_text(of, TextSink([&](std::string_view part) { text += part; }), {.format = TextFormat::csv});
    return text;
  };

  EXPECT_EQ(text_of(*tensor[1]), text_of(*tensor[0]));
  EXPECT_EQ(verify(*tensor[1]).nonzeros, summed(input_).size());
  EXPECT_EQ(verify(*tensor[1]).stored_bytes, 0);
  const TensorStatistics in_memory = measure_statistics(*tensor[1]);
  const TensorStatistics in_file = measure_statistics(*tensor[0]);
  EXPECT_EQ(in_memory.values.histogram, in_file.values.histogram);
  EXPECT_EQ(in_memory.values.mean, in_file.values.mean);
  for (std::size_t n = 0; n < input_.shape.size(); ++n) {
    EXPECT_EQ(in_memory.modes[n].histogram, in_file.modes[n].histogram);
  }
}

class DamagedNonzeros : public testing::Test {
 protected:
  // Ten chunks of 100 nonzeros, the sixth of which is damaged.
  DamagedNonzeros() {
    CoordinateTensor input{{1000, 7}, {}, {}};
    for (std::uint64_t i = 0; i < 1000; ++i) {
      input.points.push_back({i, i % 7});
      input.values.push_back(0.5 + static_cast<double>(i) / 7);
    }
    ingest_coordinates(CoordinateColumns<>(input).arrays(), path_,
                       {.shape = input.shape, .zstd_level = 0, .chunk_nnz = 100});
    const StoredExtent extent = TensorChunks::of(TensorFile(path_)).extents(5)[static_cast<std::size_t>(Column::index)];
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(extent.address + extent.stored_bytes / 2));
    file.put('\x5a').put('\xa5').put('\x5a');
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "t.blco";
};

TEST_F(DamagedNonzeros, AreRefusedAfterAllThatLieBefore) {
  const TensorFile tensor(path_);
  for (const int threads : {1, 2, 3, 8}) {
    std::uint64_t seen = 0;
    const auto visit = [&](const NonzeroBlock& block) {
      seen += block.count();
      return true;
    };

    expect_error(ErrorKind::corrupt, "chunk 5", [&] { for_each_nonzero(tensor, visit, {.threads = threads}); });

    EXPECT_EQ(seen, 500) << threads << " threads";
    expect_error(ErrorKind::corrupt, "chunk 5", [&] { read_coordinates(tensor, {.threads = threads}); });
    expect_error(ErrorKind::corrupt, "chunk 5", [&] { save(tensor, folder_ / "copy.blco", {.threads = threads}); });
    EXPECT_FALSE(std::filesystem::exists(folder_ / "copy.blco"));

    NonzeroCursor cursor(tensor, {.threads = threads});
    for (int chunk = 0; chunk < 5; ++chunk) EXPECT_EQ(cursor.next().values.size(), 100);
    expect_error(ErrorKind::corrupt, "chunk 5", [&] { cursor.next(); });
  }
}

TEST(SaveTensor, RefusesOptionsAndNamesTheBudget) {
  const TemporaryFolder folder;
  const auto input = random_coordinates({.shape = {50, 60}, .nnz = 900, .seed = 1});
  const MemoryTensor tensor(CoordinateColumns<>(input).arrays(), {.chunk_nnz = 100});
  const auto save_within = [&](std::uint64_t bytes) {
    save(tensor, folder / "t.blco", {.memory_bytes = bytes, .threads = 4});
  };

  expect_error(ErrorKind::invalid_argument, "zstd_level", [&] { save(tensor, folder / "t.blco", {.zstd_level = 20}); });
  expect_error(ErrorKind::cancelled, "stage \"write\"",
               [&] { save(tensor, folder / "t.blco", {}, [](const Progress&) { return false; }); });
  const std::uint64_t named = named_budget([&] { save_within(1); });
  EXPECT_TRUE(folder.is_empty());

  save_within(named);

  EXPECT_EQ(as_map(read_container(folder / "t.blco")), summed(input));
}

TEST(SaveTensor, KeepsLabelsAndNames) {
  const TemporaryFolder folder;
  IngestOptions options;
  options.columns.modes = {"who", "what"};
  options.columns.value = "much";
  ingest_files({folder.write("in.csv", "who,what,much\nann,tea,2\nbob,tea,1.5\nann,ale,3\n")}, folder / "in.blco",
               options);

  save(TensorFile(folder / "in.blco"), folder / "out.blco");

  EXPECT_EQ(file_contents(folder / "out.blco"), file_contents(folder / "in.blco"));
}

}  // namespace
}  // namespace blco
