// Arrow streams that fail, or give what is none of their type; and how many of their batches are alive at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/arrow/arrow_reader.hpp"
#include "tests/arrow_arrays.hpp"
#include "tests/io/expect_error.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using testing::HasSubstr;
using ArrowBatchList = std::vector<HandStream::Batch>;

// Reads all rows of the column x, and returns how many there are.
std::uint64_t count_rows(HandStream& stream) {
  TableOptions options;
  options.columns.modes = {"x"};
  ThreadExecutor executor(1);
  const auto reader = open_arrow(ArrowStream(stream.stream()), options, {}, ~std::uint64_t{0}, executor);
  std::uint64_t rows = 0;
  for (CoordinateBatch batch; reader->next(batch);) rows += batch.count();
  return rows;
}

// Returns what is said of a stream, which is released then.
std::string refused_stream(HandStream& stream, ErrorKind kind = ErrorKind::corrupt) {
  const std::string message = message_of_error(kind, [&] { count_rows(stream); });
  EXPECT_EQ(stream.stream_releases(), 1) << message;
  EXPECT_EQ(stream.alive(), 0) << message;
  return message;
}

std::string refused_column(const HandArray& array, ErrorKind kind = ErrorKind::corrupt) {
  HandStream stream(ArrowBatchList{{array}});
  return refused_stream(stream, kind);
}

TEST(ArrowStream, RefusesBatchesThatAreNotWhatTheSchemaSays) {
  const auto refused = [](const HandArray& array) {
    HandStream stream(ArrowBatchList{{texts("x", {"a", "b"})}, {array}});
    return refused_stream(stream);
  };
  HandArray descending = texts("x", {"a", "b"});
  descending.buffers[1] = bytes_of<std::int32_t>({0, 2, 1});
  HandArray short_one = texts("x", {"a", "b"});
  short_one.offset = -1;
  HandArray poor = texts("x", {"a", "b"});
  poor.buffers.pop_back();

  EXPECT_THAT(refused(descending), HasSubstr("column 'x' after 2 rows: the offsets of its text descend"));
  EXPECT_THAT(refused(short_one), HasSubstr("column 'x' after 2 rows: the batch has fewer cells than rows"));
  EXPECT_THAT(refused(poor), HasSubstr("column 'x' after 2 rows: a buffer is missing"));
}

TEST(ArrowStream, RefusesTextsOutsideOfTheirBuffers) {
  const auto refused = [](std::int32_t buffer, std::int32_t offset) {
    HandArray array = text_views("x", {"thirteen char"});
    array.buffers[1] = bytes_of<std::int32_t>({13, 0, buffer, offset});
    return refused_column(array);
  };

  EXPECT_THAT(refused(2, 0), HasSubstr("column 'x' after 0 rows: its text lies in no buffer"));
  EXPECT_THAT(refused(-1, 0), HasSubstr("its text lies in no buffer"));
  EXPECT_THAT(refused(1, -1), HasSubstr("the length of its text is wrong"));
}

TEST(ArrowStream, RefusesBatchesOfNegativeLength) {
  for (const std::int64_t skipped : {-1, 4}) {
    HandStream stream(ArrowBatchList{{numbers<std::int64_t>("x", "l", {1, 2, 3})}});

    EXPECT_THAT(refused_stream(stream.skip(skipped).with_null_rows({true, false, true})),
                HasSubstr("the batch of the Arrow stream after 0 rows has a negative offset or length"));
  }
}

TEST(ArrowStream, RefusesDictionariesThatItCannotRead) {
  const HandArray listed = texts("", {"a", "b"});
  const auto refused = [](const HandArray& array) { return refused_column(array, ErrorKind::invalid_argument); };

  EXPECT_EQ(refused(coded("x", "c", {0, 1}, coded("", "c", {1, 0}, listed))),
            "column 'x' is a dictionary of dictionaries; cast it to what these list");
  EXPECT_THAT(refused(coded<float>("x", "f", {0, 1}, listed)),
              HasSubstr("column 'x' has a dictionary with codes of the type float, but codes are integers"));
  EXPECT_THAT(refused(coded<std::int32_t>("x", "tdD", {0, 1}, listed)), HasSubstr("codes of the type date32[day]"));
}

TEST(ArrowStream, TellsWhatAStreamThatFailsSays) {
  const HandStream::Batch batch = {numbers<std::int64_t>("x", "l", {1, 2, 3})};
  HandStream stream(ArrowBatchList{batch, batch, batch});

  EXPECT_EQ(refused_stream(stream.fail_after(2), ErrorKind::io),
            "the Arrow stream fails after 6 rows: the cable is cut");
  for (const char* const nothing : {static_cast<const char*>(nullptr), ""}) {
    HandStream mute(ArrowBatchList{batch});
    EXPECT_EQ(refused_stream(mute.fail_after(0).saying(nothing), ErrorKind::io),
              "the Arrow stream fails after 0 rows: Input/output error");
  }
}

TEST(ArrowStream, RefusesWhatIsNoTableOrHasRowsThatAreNullAsAWhole) {
  const ArrowBatchList batches = {{numbers<std::int64_t>("x", "l", {1, 2, 3})}};
  HandStream no_schema(batches);
  HandStream no_table(batches);
  HandStream null_row(batches);
  HandStream null_before(batches);

  EXPECT_EQ(refused_stream(no_schema.with_root(""), ErrorKind::io),
            "the Arrow stream gives no schema: the cable is cut");
  EXPECT_THAT(refused_stream(no_table.with_root("l"), ErrorKind::invalid_argument),
              HasSubstr("has arrays of the format 'l', but no table; give a table with a column per mode"));
  EXPECT_THAT(refused_stream(null_row.with_null_rows({true, false, true}), ErrorKind::invalid_argument),
              HasSubstr("the batch after 0 rows has rows that are null as a whole"));
  EXPECT_EQ(count_rows(null_before.with_null_rows({false, true, true}).skip(1)), 2U);
  EXPECT_EQ(null_before.stream_releases(), 1);
  EXPECT_EQ(null_before.alive(), 0);
}

TEST(ArrowStream, RefusesAStreamThatHasBeenRead) {
  HandStream stream(ArrowBatchList{{numbers<std::int64_t>("x", "l", {1})}});
  ArrowArrayStream& raw = stream.stream();
  { const ArrowStream taken(raw); }

  EXPECT_EQ(raw.release, nullptr);
  EXPECT_THAT(message_of_error(ErrorKind::invalid_argument, [&] { const ArrowStream again(raw); }),
              HasSubstr("has been read and released; ask for a new one"));
  EXPECT_EQ(stream.stream_releases(), 1);
}

TEST(ArrowStream, HasOneBatchOrTwoWithDictionariesAliveAtATime) {
  const auto most_alive = [](const HandArray& column) {
    HandStream stream(ArrowBatchList(7, {column}));
    count_rows(stream);
    return stream.most_alive();
  };

  EXPECT_EQ(most_alive(texts("x", {"a", "b"})), 1);
  EXPECT_EQ(most_alive(coded("x", "c", {0}, texts("", {"a"}))), 2);
}

}  // namespace
}  // namespace blco
