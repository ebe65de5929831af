// Copies in the orders of modes: the nonzeros of their chunks and their order against those of the natural ones, what
// decides for them against plain counts, and the same bytes whatever the way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <blco/export.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/tensor_file.hpp>
#include <blco/verify.hpp>
#include <map>
#include <set>

#include "blco/payload.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "io/container/container_writer.hpp"
#include "kernels/aligned_buffer.hpp"
#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/stream/named_budget.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/two_to.hpp"

namespace blco {
namespace {

using Shape = std::vector<std::uint64_t>;

// The lines of a text, without its last, empty one.
std::vector<std::string> lines_of(const Tensor& tensor, const std::string& order_of) {
  std::string text;
  export_text(tensor, TextSink([&](std::string_view piece) { text += piece; }),
              {.index_base = 0, .order_of = order_of});
  std::vector<std::string> lines;
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

Point point_of(const std::string& line, std::size_t order) {
  std::istringstream words(line);
  Point point(order);
  for (std::uint64_t& coordinate : point) words >> coordinate;
  return point;
}

// A tensor with fibers along its last mode: each point is followed by others that differ in it alone.
CoordinateTensor with_fibers(const Shape& shape, std::size_t fibers, std::size_t nonzeros_per_fiber) {
  CoordinateTensor tensor = random_coordinates({.shape = shape, .nnz = fibers, .seed = 5, .counts = true});
  for (std::size_t f = 0; f < fibers; ++f) {
    for (std::size_t i = 1; i < nonzeros_per_fiber; ++i) {
      Point point = tensor.points[f];
      point.back() = (point.back() + i) % shape.back();
      tensor.points.push_back(point);
      tensor.values.push_back(static_cast<double>(1 + i));
    }
  }
  return tensor;
}

constexpr std::uint64_t chunk_nnz = 700;

// The pieces of `all` that chunks of so many nonzeros have.
std::vector<std::vector<std::string>> in_chunks(const std::vector<std::string>& all, std::size_t nnz) {
  std::vector<std::vector<std::string>> chunks;
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (at % nnz == 0) chunks.emplace_back();
    chunks.back().push_back(all[at]);
  }
  return chunks;
}

class OrderedCopies : public testing::TestWithParam<Shape> {
 protected:
  IngestReport ingest(const CoordinateTensor& tensor, const std::string& name, IngestOptions options) const {
    if (options.chunk_nnz == default_chunk_nnz) options.chunk_nnz = chunk_nnz;
    return ingest_coordinates(CoordinateColumns<>(tensor).arrays(), folder_ / name, options);
  }

  TemporaryFolder folder_;
};

const std::vector<Shape> shapes = {{97, 101},
                                   {30, 40, 50},
                                   {two_to(18), two_to(18), two_to(18), two_to(18)},
                                   {two_to(33), 7, two_to(40)},
                                   {7, 5, 8, 3, 6, 4, 2},
                                   {1, 9, 1, 900}};
INSTANTIATE_TEST_SUITE_P(Shapes, OrderedCopies, testing::ValuesIn(shapes));

TEST_P(OrderedCopies, HaveTheNonzerosOfEachChunkSortedByTheirMode) {
  const CoordinateTensor tensor = with_fibers(GetParam(), 600, 4);
  const IngestReport report = ingest(tensor, "t.blco", {.orders = {"all"}});
  const TensorFile file(folder_ / "t.blco");
  const std::size_t order = GetParam().size();

  std::vector<std::vector<std::string>> natural = in_chunks(lines_of(file, ""), chunk_nnz);
  for (std::vector<std::string>& lines : natural) std::ranges::sort(lines);
  ASSERT_EQ(report.ordered_modes.size(), order);
  std::size_t copies = 0;
  for (const OrderedMode& mode : report.ordered_modes) {
    copies += mode.has_copy ? 1 : 0;  // else the natural order is that of the mode
    std::vector<std::vector<std::string>> chunks = in_chunks(lines_of(file, std::to_string(mode.mode)), chunk_nnz);
    for (std::vector<std::string>& lines : chunks) {
      const auto row = [&](const std::string& line) { return point_of(line, order)[mode.mode]; };
      EXPECT_TRUE(std::ranges::is_sorted(lines, {}, row)) << "mode " << mode.mode;
      if (mode.along) {  // within a row, fibers are whole
        std::set<Point> seen;
        Point last;
        for (const std::string& line : lines) {
          Point fiber = point_of(line, order);
          fiber[*mode.along] = 0;
          if (fiber == last) continue;
          EXPECT_TRUE(seen.insert(fiber).second) << line;
          last = fiber;
        }
      }
      std::ranges::sort(lines);
    }
    EXPECT_EQ(chunks, natural) << "mode " << mode.mode;
  }
  EXPECT_EQ(file.summary().copies.size(), copies);
  EXPECT_GT(copies, 0);
  EXPECT_EQ(verify(file).chunks, (copies + 1) * file.summary().chunk_count);
}

TEST_P(OrderedCopies, LeaveTheNaturalOrderAsItIs) {
  const CoordinateTensor tensor = with_fibers(GetParam(), 600, 4);
  ingest(tensor, "plain.blco", {});
  ingest(tensor, "t.blco", {.orders = {"all"}});

  const TensorFile plain(folder_ / "plain.blco");
  const TensorFile file(folder_ / "t.blco");

  EXPECT_EQ(lines_of(file, ""), lines_of(plain, ""));
  EXPECT_EQ(file.summary().index.stored_bytes, plain.summary().index.stored_bytes);
  EXPECT_EQ(file.summary().value.stored_bytes, plain.summary().value.stored_bytes);
  EXPECT_EQ(plain.summary().copies.size(), 0);
}

TEST_P(OrderedCopies, HaveTheSameBytesWhateverTheWay) {
  const CoordinateTensor tensor = with_fibers(GetParam(), 5000, 4);
  const CoordinateColumns<> columns(tensor);
  const IngestOptions options{.chunk_nnz = 3000, .orders = {"all"}};
  ingest(tensor, "t.blco", options);
  const std::string expected = file_contents(folder_ / "t.blco");

  IngestOptions other = options;
  other.threads = 1;
  other.memory_bytes = std::uint64_t{12} << 20;
  ingest(tensor, "small.blco", other);
  save(MemoryTensor(columns.arrays(), options), folder_ / "memory.blco");
  IngestOptions plain = options;
  plain.orders = {};
  ingest(tensor, "plain.blco", plain);
  ingest_files({folder_ / "plain.blco"}, folder_ / "given.blco", {.orders = {"all"}});
  save(TensorFile(folder_ / "t.blco"), folder_ / "kept.blco");
  save(TensorFile(folder_ / "t.blco"), folder_ / "without.blco", {.orders = std::vector<std::string>{"none"}});

  for (const char* name : {"small.blco", "memory.blco", "given.blco", "kept.blco"}) {
    EXPECT_TRUE(file_contents(folder_ / name) == expected) << name;
  }
  EXPECT_TRUE(file_contents(folder_ / "without.blco") == file_contents(folder_ / "plain.blco"));
}

// Plain counts of a tensor without repeated points.
double nonzeros_per_fiber(const std::vector<Point>& points, std::size_t along) {
  std::set<Point> fibers;
  for (Point point : points) {
    point[along] = 0;
    fibers.insert(point);
  }
  return static_cast<double>(points.size()) / static_cast<double>(fibers.size());
}

TEST(OrderChoice, CountsFibersAndRowsAsTheyAre) {
  const TemporaryFolder folder;
  const Shape shape = {40, 300, 20};
  CoordinateTensor tensor = with_fibers(shape, 900, 6);
  std::map<Point, double> distinct;
  for (std::size_t i = 0; i < tensor.points.size(); ++i) distinct[tensor.points[i]] = tensor.values[i];
  std::vector<Point> points;
  for (const auto& [point, value] : distinct) points.push_back(point);
  ASSERT_LT(points.size(), 65536);

  const IngestReport report =
      ingest_coordinates(CoordinateColumns<>(tensor).arrays(), folder / "t.blco", {.orders = {"auto"}});

  const TensorFile file(folder / "t.blco");
  for (const OrderedMode& mode : report.ordered_modes) {
    double longest = 0;
    std::size_t along = 0;
    for (std::size_t other = 0; other < 3; ++other) {
      const double length = nonzeros_per_fiber(points, other);
      if (other != mode.mode && length > longest) {
        longest = length;
        along = other;
      }
    }
    EXPECT_DOUBLE_EQ(mode.nonzeros_per_fiber, longest) << mode.mode;
    EXPECT_EQ(mode.along, longest >= 3 ? std::optional<std::uint64_t>(along) : std::nullopt) << mode.mode;
    std::size_t rows = 0;
    for (std::size_t other = 0; other < 3; ++other) {
      std::set<std::uint64_t> distinct_rows;
      for (const Point& point : points) distinct_rows.insert(point[other]);
      rows += distinct_rows.size();
    }
    EXPECT_DOUBLE_EQ(mode.rows_per_nonzero, static_cast<double>(rows) / static_cast<double>(points.size()));
    EXPECT_EQ(mode.has_copy, mode.rows_per_nonzero <= most_rows_per_nonzero) << mode.mode;
  }
}

TEST(OrderChoice, CountsRowsInTheOrderOfTheMode) {
  const TemporaryFolder folder;
  // Row i of mode 0 has the rows i and i + 1 of the other modes only, so that its order has few rows at a time.
  CoordinateTensor tensor{{two_to(17), two_to(17), two_to(17)}, {}, {}};
  for (std::uint64_t i = 0; i + 1 < two_to(17); ++i) {
    for (const Point& step : {Point{0, 0, 0}, Point{0, 0, 1}, Point{0, 1, 0}, Point{0, 1, 1}}) {
      // Far from each other in the natural order.
      tensor.points.push_back({i, (i + step[1]) * 40503 % two_to(17), (i + step[2]) * 30011 % two_to(17)});
      tensor.values.push_back(1);
    }
  }
  const IngestReport report =
      ingest_coordinates(CoordinateColumns<>(tensor).arrays(), folder / "t.blco", {.orders = {"auto"}});

  // A window has 65536 nonzeros: 16384 rows of mode 0, and one more of each other mode.
  EXPECT_NEAR(report.ordered_modes[0].rows_per_nonzero, 0.75, 1e-3);
}

TEST(OrderChoice, CountsWithinChunksAlikeOnAnyNumberOfThreads) {
  const TemporaryFolder folder;
  const Shape shape = {300, 4000, 50};
  const CoordinateTensor tensor = with_fibers(shape, 30000, 5);
  IngestReport reports[2];
  for (const int threads : {1, 3}) {
    reports[threads / 2] = ingest_coordinates(CoordinateColumns<>(tensor).arrays(), folder / "t.blco",
                                              {.threads = threads, .chunk_nnz = 10000, .orders = {"auto"}});
  }
  std::array<std::size_t, 3> fibers{};
  std::size_t rows = 0;  // of all modes: those of a chunk do not depend on its order
  for (const std::vector<std::string>& lines : in_chunks(lines_of(TensorFile(folder / "t.blco"), ""), 10000)) {
    for (std::size_t n = 0; n < 3; ++n) {
      std::set<Point> of_mode;
      std::set<std::uint64_t> distinct_rows;
      for (const std::string& line : lines) {
        Point point = point_of(line, 3);
        distinct_rows.insert(std::exchange(point[n], 0));
        of_mode.insert(point);
      }
      fibers[n] += of_mode.size();
      rows += distinct_rows.size();
    }
  }

  for (std::size_t n = 0; n < 3; ++n) {
    const OrderedMode& mode = reports[0].ordered_modes[n];
    EXPECT_EQ(mode.nonzeros_per_fiber, reports[1].ordered_modes[n].nonzeros_per_fiber);
    EXPECT_EQ(mode.rows_per_nonzero, reports[1].ordered_modes[n].rows_per_nonzero);
    const auto nnz = static_cast<double>(reports[0].nnz);
    const std::size_t fewest = std::min(fibers[(n + 1) % 3], fibers[(n + 2) % 3]);
    EXPECT_DOUBLE_EQ(mode.nonzeros_per_fiber, nnz / static_cast<double>(fewest)) << n;
    EXPECT_DOUBLE_EQ(mode.rows_per_nonzero, static_cast<double>(rows) / nnz) << n;
  }
}

// All cells of short modes: there the natural order may have the bits of a mode on top.
TEST(OrderChoice, MakesNoCopyInTheNaturalOrder) {
  const TemporaryFolder folder;
  for (const Shape& shape : std::vector<Shape>{{30, 2},
                                               {60, 2},
                                               {2, 30},
                                               {31, 2},
                                               {2, 2, 30},
                                               {30, 2, 2},
                                               {2, 2, 2, 100},
                                               {30, 1},
                                               {1, 30},
                                               {1000, 2},
                                               {5000, 1},
                                               {2, 2, 2},
                                               {40}}) {
    CoordinateTensor tensor{shape, {Point(shape.size(), 0)}, {}};
    for (std::size_t n = 0; n < shape.size(); ++n) {
      const std::vector<Point> before = tensor.points;
      for (std::uint64_t i = 1; i < shape[n]; ++i) {
        for (Point point : before) {
          point[n] = i;
          tensor.points.push_back(point);
        }
      }
    }
    tensor.values.assign(tensor.points.size(), 2);
    const CoordinateColumns<> columns(tensor);
    std::vector<std::string> each_mode;
    for (std::size_t n = 0; n < shape.size(); ++n) each_mode.push_back(std::to_string(n));
    ingest_coordinates(columns.arrays(), folder / "plain.blco", {.chunk_nnz = 700});

    for (const std::vector<std::string>& orders : {std::vector<std::string>{"auto"}, {"all"}, each_mode}) {
      SCOPED_TRACE(testing::PrintToString(shape) + orders[0]);
      const IngestOptions options{.chunk_nnz = 700, .orders = orders};
      const IngestReport report = ingest_coordinates(columns.arrays(), folder / "t.blco", options);
      const TensorFile file(folder / "t.blco");
      const std::vector<std::string> natural = lines_of(file, "");
      std::size_t copies = 0;
      ASSERT_EQ(report.ordered_modes.size(), shape.size());
      for (const OrderedMode& mode : report.ordered_modes) {
        copies += mode.has_copy ? 1 : 0;
        if (!mode.has_copy && mode.rows_per_nonzero > most_rows_per_nonzero) continue;
        const std::vector<std::string> lines = lines_of(file, std::to_string(mode.mode));
        EXPECT_EQ(mode.has_copy, lines != natural) << mode.mode;
        for (const auto& chunk : in_chunks(lines, 700)) {
          EXPECT_TRUE(std::ranges::is_sorted(
              chunk, {}, [&](const std::string& line) { return point_of(line, shape.size())[mode.mode]; }));
        }
      }
      EXPECT_EQ(file.summary().copies.size(), copies);
      EXPECT_EQ(verify(file).chunks, (copies + 1) * file.summary().chunk_count);
      EXPECT_EQ(report.notes.size(), orders == each_mode ? shape.size() - copies : 0);

      const MemoryTensor memory(columns.arrays(), options);
      EXPECT_EQ(memory.notes(), report.notes);
      save(memory, folder / "memory.blco");
      const IngestReport given = ingest_files({folder / "plain.blco"}, folder / "given.blco", {.orders = orders});
      EXPECT_EQ(given.notes, report.notes);
      EXPECT_EQ(save(TensorFile(folder / "plain.blco"), folder / "saved.blco", {.orders = orders}), report.notes);
      for (const char* name : {"memory.blco", "given.blco"}) {
        EXPECT_TRUE(file_contents(folder / name) == file_contents(folder / "t.blco")) << name;
      }
    }
  }
}

TEST(OrderChoice, NamesABudgetThatSuffices) {
  const TemporaryFolder folder;
  const CoordinateTensor tensor = with_fibers(Shape(16, 9), 60000, 2);
  const CoordinateColumns<> columns(tensor);
  for (const char* const orders : {"auto", "all"}) {
    const IngestOptions ample{.threads = 2, .chunk_nnz = 2000, .orders = {orders}};
    const IngestReport expected = ingest_coordinates(columns.arrays(), folder / "ample.blco", ample);
    IngestOptions least = ample;
    least.memory_bytes = std::uint64_t{1} << 20;
    least.memory_bytes = named_budget([&] { ingest_coordinates(columns.arrays(), folder / "least.blco", least); });

    const IngestReport report = ingest_coordinates(columns.arrays(), folder / "least.blco", least);

    EXPECT_TRUE(file_contents(folder / "least.blco") == file_contents(folder / "ample.blco"));
    for (std::size_t n = 0; n < 16; ++n) {
      EXPECT_EQ(report.ordered_modes[n].rows_per_nonzero, expected.ordered_modes[n].rows_per_nonzero);
    }
  }
}

TEST(OrderChoice, RefusesWordsThatNameNoMode) {
  const TemporaryFolder folder;
  const CoordinateTensor tensor = with_fibers({30, 40, 50}, 100, 2);
  const CoordinateColumns<> columns(tensor);

  expect_error(ErrorKind::invalid_argument, "'3' is not a mode", [&] {
    ingest_coordinates(columns.arrays(), folder / "t.blco", {.orders = {"0", "3"}});
  });
  EXPECT_FALSE(std::filesystem::exists(folder / "t.blco"));
  ingest_coordinates(columns.arrays(), folder / "t.blco", {.mode_names = {"a", "b", "c"}, .orders = {"c", "0", "c"}});
  const TensorFile file(folder / "t.blco");
  ASSERT_EQ(file.summary().copies.size(), 2);
  EXPECT_EQ(file.summary().copies[0].mode, 0);
  EXPECT_EQ(file.summary().copies[1].mode, 2);
  expect_error(ErrorKind::invalid_argument, "no copy in the order of mode 1", [&] { lines_of(file, "b"); });
  expect_error(ErrorKind::invalid_argument, "it is a BLCO container already",
               [&] { ingest_files({folder / "t.blco"}, folder / "new.blco"); });
  for (const IngestOptions& options :
       {IngestOptions{.shape = {30, 40, 60}}, IngestOptions{.columns = {.value = "price"}},
        IngestOptions{.columns = {.separator = ';'}}, IngestOptions{.index_base = 0}}) {
    IngestOptions all = options;
    all.orders = {"all"};
    expect_error(ErrorKind::invalid_argument, "does not go with a container",
                 [&] { ingest_files({folder / "t.blco"}, folder / "new.blco", all); });
  }
  ingest_files({folder / "t.blco"}, folder / "new.blco", {.orders = {"b"}});
  ASSERT_EQ(TensorFile(folder / "new.blco").summary().copies.size(), 1);
  EXPECT_EQ(TensorFile(folder / "new.blco").summary().copies[0].mode, 1);
}

TEST(OrderedCopiesOfReorderedModes, ExportOriginalIndices) {
  const TemporaryFolder folder;
  const CoordinateTensor tensor = with_fibers({30, 40, 50}, 500, 4);
  const IngestOptions options{.reorder = Reorder::frequency, .chunk_nnz = 700, .orders = {"1"}};
  ingest_coordinates(CoordinateColumns<>(tensor).arrays(), folder / "t.blco", options);
  const TensorFile file(folder / "t.blco");
  const MemoryTensor memory(CoordinateColumns<>(tensor).arrays(), options);

  std::vector<std::string> natural = lines_of(file, "");
  std::vector<std::string> ordered = lines_of(file, "1");
  EXPECT_EQ(lines_of(memory, "1"), ordered);
  EXPECT_NE(ordered, natural);
  std::ranges::sort(natural);
  std::ranges::sort(ordered);
  EXPECT_EQ(ordered, natural);
  EXPECT_EQ(verify(file).nonzeros, natural.size());
}

TEST(VerifyCopies, FindsOtherNonzerosUnderRightChecksums) {
  const TemporaryFolder folder;
  CoordinateTensor tensor{{30, 40, 50}, {}, {}};
  for (std::uint64_t i = 0; i < 100; ++i) {
    tensor.points.push_back({i % 30, i % 40, i % 50});
    tensor.values.push_back(static_cast<double>(i + 1));
  }
  ingest_coordinates(CoordinateColumns<>(tensor).arrays(), folder / "t.blco", {.chunk_nnz = 50, .orders = {"0"}});
  const TensorFile file(folder / "t.blco");
  const ChunkSource& natural = TensorChunks::of(file);
  const ChunkSource& copy = *natural.ordered_copy(0);
  const auto stored = [&](const ChunkSource& from, std::uint64_t number, bool is_bent) {
    std::vector<std::byte> scratch(from.scratch_bytes(number));
    AlignedBuffer<std::byte> aligned(from.buffer_bytes(number));
    const ChunkView view = from.read_chunk(number, aligned.span(), scratch);
    StoredChunk chunk;
    chunk.lower.assign(view.lower.begin(), view.lower.end());
    chunk.upper.assign(view.upper.begin(), view.upper.end());
    chunk.columns[0] = store_payload(view[Column::index], 0, 0);
    std::vector<double> values(view.nnz + frame_entries);
    for (std::uint64_t frame = 0; frame * frame_entries < view.nnz; ++frame) {
      decode_value_frame(view_payload(view[Column::value]), frame, values.data() + frame * frame_entries);
    }
    values.resize(view.nnz);
    if (is_bent) std::swap(*std::ranges::min_element(values), *std::ranges::max_element(values));
    chunk.columns[2] = store_payload(encode_values(values), 0, 0);
    return chunk;
  };
  const auto write = [&](const char* name, std::uint64_t first, bool is_bent) {
    ContainerWriter writer(folder / name, natural.info());
    for (const std::uint64_t chunk : {0U, 1U}) writer.append(stored(natural, chunk, false));
    writer.begin_copy(0, copy.info().bit_modes);
    writer.append(stored(copy, first, false));
    writer.append(stored(copy, 1 - first, is_bent));
    writer.finish(natural.info());
  };
  write("same.blco", 0, false);
  write("bent.blco", 0, true);        // two values of chunk 1 change places
  write("exchanged.blco", 1, false);  // chunks do

  EXPECT_NO_THROW(verify(TensorFile(folder / "same.blco")));
  expect_error(ErrorKind::corrupt, "order of mode 0: its chunk 1 has other nonzeros",
               [&] { verify(TensorFile(folder / "bent.blco")); });
  expect_error(ErrorKind::corrupt, "order of mode 0: its chunk 0 has other nonzeros",
               [&] { verify(TensorFile(folder / "exchanged.blco")); });
}

}  // namespace
}  // namespace blco
