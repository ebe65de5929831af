// Calls the stream, and tells its errors.
#include "io/arrow/arrow_stream.hpp"

#include <string>
#include <string_view>
#include <system_error>

#include "blco/error.hpp"
#include "blco/refuse.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

[[noreturn]] void fail(ArrowArrayStream& stream, int code, const std::string& what) {
  const char* const said = stream.get_last_error(&stream);
  const bool has_said = said != nullptr && *said != '\0';
  throw Error(ErrorKind::io, what + ": " + (has_said ? said : std::generic_category().message(code)));
}

bool has_null_rows(const ArrowArray& batch) {
  if (batch.null_count == 0 || batch.n_buffers == 0 || batch.buffers[0] == nullptr) return false;
  const auto* const valid = static_cast<const std::uint8_t*>(batch.buffers[0]);
  for (std::int64_t at = batch.offset; at < batch.offset + batch.length; ++at) {
    if ((valid[at / 8] >> (at % 8) & 1) == 0) return true;
  }
  return false;
}

}  // namespace

ArrowStream::ArrowStream(ArrowArrayStream& stream) : stream_(stream) {
  if (stream_->release == nullptr) refuse("the Arrow stream has been read and released; ask for a new one");
}

ArrowOwner<ArrowSchema> ArrowStream::read_schema() {
  ArrowOwner<ArrowSchema> schema;
  const int code = stream_->get_schema(&*stream_, &*schema);
  if (code != 0) fail(*stream_, code, "the Arrow stream gives no schema");
  if (std::string_view(schema->format) != "+s") {
    refuse("the Arrow stream has arrays of the format " + quoted_for_message(schema->format) +
           ", but no table; give a table with a column per mode");
  }
  return schema;
}

std::optional<ArrowOwner<ArrowArray>> ArrowStream::next(std::uint64_t rows_before, std::size_t columns) {
  ArrowOwner<ArrowArray> batch;
  const std::string place = "after " + std::to_string(rows_before) + " rows";
  const int code = stream_->get_next(&*stream_, &*batch);
  if (code != 0) fail(*stream_, code, "the Arrow stream fails " + place);
  if (batch->release == nullptr) return std::nullopt;
  if (batch->n_children != static_cast<std::int64_t>(columns)) {
    throw Error(ErrorKind::corrupt, "the batch of the Arrow stream " + place + " has " +
                                        std::to_string(batch->n_children) + " columns, but its schema has " +
                                        std::to_string(columns) + "; the library that made the stream is at fault");
  }
  if (batch->offset < 0 || batch->length < 0) {
    throw Error(ErrorKind::corrupt,
                "the batch of the Arrow stream " + place +
                    " has a negative offset or length; the library that made the stream is at fault");
  }
  if (has_null_rows(*batch)) refuse("the batch " + place + " has rows that are null as a whole; leave them out");
  return batch;
}

}  // namespace blco
