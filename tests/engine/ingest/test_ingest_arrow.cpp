// Arrow streams become the containers that the same tables become as text, and are released whatever happens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <blco/arrow.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/nonzeros.hpp>
#include <blco/tensor_file.hpp>

#include "tests/arrow_arrays.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

using ArrowBatches = std::vector<HandStream::Batch>;

// Shops with codes that differ from batch to batch; 2024-03-05T14:07:33 and later.
ArrowBatches sales() {
  const std::int64_t hour = 3'600'000;
  const std::int64_t start = 1'709'647'653'000;
  return {{coded<std::int8_t>("shop", "c", {0, 1, 0}, texts("", {"Oslo", "Rome"})),
           numbers<std::int64_t>("when", "tsm:UTC", {start, start + 30 * hour, start - hour}),
           with_nulls(numbers<float>("price", "f", {2.5F, 10, 0}), {true, true, true}),
           numbers<std::int32_t>("n", "i", {2, 1, 4})},
          {coded<std::int8_t>("shop", "c", {1, 1}, texts("", {"Rome", "Bonn"})),
           with_nulls(numbers<std::int64_t>("when", "tsm:UTC", {0, start}), {false, true}),
           numbers<float>("price", "f", {5, 7}), numbers<std::int32_t>("n", "i", {3, 1})}};
}

constexpr const char* sales_as_text =
    "shop,when,price,n\n"
    "Oslo,2024-03-05T14:07:33Z,2.5,2\n"
    "Rome,2024-03-06T20:07:33Z,10,1\n"
    "Oslo,2024-03-05T13:07:33Z,0,4\n"
    "Bonn,,5,3\n"
    "Bonn,2024-03-05T14:07:33Z,7,1\n";

IngestOptions sales_options() {
  IngestOptions options;
  options.columns.modes = {"shop", "when:day:every", "when:hour-of-day", "price:bins=4", "price:quantiles=2"};
  options.columns.value = "n";
  return options;
}

TEST(IngestArrow, GivesTheContainerThatTheTableGivesAsText) {
  const TemporaryFolder folder;
  const auto text = folder.write("sales.csv", sales_as_text);
  for (const Missing missing : {Missing::skip, Missing::key}) {
    for (const Reorder reorder : {Reorder::none, Reorder::frequency}) {
      IngestOptions options = sales_options();
      options.columns.missing = missing;
      if (missing == Missing::key) options.columns.missing_key = "unknown";
      options.reorder = reorder;
      ingest_files({text}, folder / "text.blco", options);
      HandStream stream(sales());

      const IngestReport report = ingest_arrow(stream.stream(), folder / "arrow.blco", options);

      EXPECT_EQ(file_contents(folder / "arrow.blco"), file_contents(folder / "text.blco"));
      EXPECT_EQ(report.entries_read, missing == Missing::skip ? 4 : 5);
      EXPECT_EQ(report.skipped_rows.size(), missing == Missing::skip ? 1U : 0U);
      EXPECT_EQ(stream.stream_releases(), 1);
      EXPECT_EQ(stream.alive(), 0);
    }
  }
}

TEST(IngestArrow, KeepsTheNumbersOfKnownLabels) {
  const TemporaryFolder folder;
  IngestOptions options;
  options.columns.modes = {"shop"};
  ingest_files({folder.write("old.csv", "shop\nRome\nBonn\n")}, folder / "old.blco", options);
  options.columns.labels_from = folder / "old.blco";
  HandStream stream(sales());

  ingest_arrow(stream.stream(), folder / "new.blco", options);

  const std::vector<std::string> expected = {"Rome", "Bonn", "Oslo"};
  EXPECT_EQ(TensorFile(folder / "new.blco").labels()[0], Labels(expected));
}

TEST(IngestArrow, PacksATableInMemory) {
  const ArrowBatches batches = {{numbers<std::uint16_t>("i", "S", {4, 0, 4}),
                                 numbers<std::int64_t>("j", "l", {1, 2, 1}), numbers<double>("n", "g", {0.5, -1, 2})}};
  IngestOptions options;
  options.columns.modes = {"j:index", "i:index"};
  options.columns.value = "n";
  for (const std::vector<std::uint64_t>& shape : {std::vector<std::uint64_t>{}, {3, 5}, {10, 7}}) {
    HandStream stream(batches);
    options.shape = shape;

    const MemoryTensor tensor(stream.stream(), options);

    EXPECT_EQ(tensor.shape(), shape.empty() ? (std::vector<std::uint64_t>{3, 5}) : shape);
    const NonzeroColumns list = read_coordinates(tensor);
    EXPECT_THAT(list.coordinates,
                testing::ElementsAre(testing::UnorderedElementsAre(1, 2), testing::UnorderedElementsAre(4, 0)));
    EXPECT_THAT(list.values, testing::UnorderedElementsAre(2.5, -1));
    EXPECT_EQ(stream.stream_releases(), 1);
  }
}

// The table of a large dictionary takes more than the budget, until a batch has a small one.
TEST(IngestArrow, LosesNoRowsWhereADictionaryExceedsTheBudgetForAWhile) {
  const auto large = numbers("", "c", std::vector<std::int8_t>(5'000'000));
  const ArrowBatches batches = {{coded<std::int32_t>("k", "i", {1, 5, 1}, large)},
                                {coded<std::int32_t>("k", "i", {0, 1, 1}, numbers<std::int8_t>("", "c", {7, 8}))}};
  IngestOptions options;
  options.columns.modes = {"k"};
  options.memory_bytes = std::uint64_t{16} << 20;
  HandStream short_of_memory(batches);

  const std::string message =
      message_of_error(ErrorKind::out_of_memory, [&] { const MemoryTensor tensor(short_of_memory.stream(), options); });

  const std::string remedy = "give at least `memory_bytes = ";
  ASSERT_THAT(message, testing::HasSubstr(remedy));
  ASSERT_THAT(message, testing::EndsWith("KiB`"));
  options.memory_bytes = std::stoull(message.substr(message.find(remedy) + remedy.size())) << 10;
  EXPECT_LT(options.memory_bytes, std::uint64_t{100} << 20) << message;
  HandStream stream(batches);
  EXPECT_THAT(read_coordinates(MemoryTensor(stream.stream(), options)).values, testing::UnorderedElementsAre(3, 1, 2));
}

TEST(IngestArrow, IndicesHaveNoReadingOfKnownLabels) {
  const TemporaryFolder folder;
  IngestOptions options;
  options.columns.modes = {"who", "at:day"};
  options.mode_names = {"who", "at"};
  ingest_files({folder.write("old.csv", "who,at\nAnn,2024-03-05\n")}, folder / "old.blco", options);
  options.columns.modes = {"who", "at:index"};
  options.columns.labels_from = folder / "old.blco";
  HandStream stream({{texts("who", {"Ann", "Bob"}), numbers<std::int64_t>("at", "l", {4, 5})}});

  ingest_arrow(stream.stream(), folder / "new.blco", options);

  EXPECT_THAT(TensorFile(folder / "old.blco").summary().reading.columns, testing::ElementsAre("who", "at:day:local"));
  EXPECT_THAT(TensorFile(folder / "new.blco").summary().reading.columns, testing::ElementsAre("who", "at:index"));
}

TEST(IngestArrow, ReleasesTheStreamAndLeavesNothingOnEveryError) {
  const TemporaryFolder folder;
  const auto fails = [&](ErrorKind kind, const IngestOptions& options, const ProgressCallback& progress,
                         std::size_t batches) {
    HandStream stream(sales());
    const std::string message = message_of_error(
        kind, [&] { ingest_arrow(stream.fail_after(batches).stream(), folder / "out.blco", options, progress); });
    EXPECT_EQ(stream.stream_releases(), 1) << message;
    EXPECT_EQ(stream.alive(), 0) << message;
    EXPECT_TRUE(folder.is_empty()) << message;
    return message;
  };
  IngestOptions options = sales_options();
  options.columns.missing = Missing::skip;
  IngestOptions no_modes;
  IngestOptions bad_chunks = options;
  bad_chunks.chunk_nnz = 0;
  IngestOptions files = options;
  files.label_files = {{"shop", "shops.txt"}};

  EXPECT_THAT(fails(ErrorKind::io, options, {}, 1), testing::HasSubstr("fails after 3 rows: the cable is cut"));
  fails(
      ErrorKind::cancelled, options, [](const Progress&) { return false; }, 9);
  EXPECT_THAT(fails(ErrorKind::invalid_argument, sales_options(), {}, 9), testing::HasSubstr("row 3 of column 'when'"));
  EXPECT_THAT(fails(ErrorKind::invalid_argument, no_modes, {}, 9), testing::HasSubstr("`columns.modes`"));
  EXPECT_THAT(fails(ErrorKind::invalid_argument, bad_chunks, {}, 9), testing::HasSubstr("`chunk_nnz`"));
  EXPECT_THAT(fails(ErrorKind::invalid_argument, files, {}, 9), testing::HasSubstr("`label_files`"));
}

}  // namespace
}  // namespace blco
