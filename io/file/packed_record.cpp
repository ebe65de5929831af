// Encodes records: payloads after a table of their lengths.
#include "io/file/packed_record.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "blco/chunk.hpp"
#include "blco/crc32c.hpp"
#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/payload.hpp"
#include "blco/payload_builder.hpp"

namespace blco {
namespace {

constexpr std::uint32_t record_magic = 0x52434c42;  // "BLCR"
constexpr std::size_t crc_end = 8;                  // magic and crc are not covered by the checksum

std::uint64_t round_up(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::uint64_t table_end(std::uint64_t columns) { return sizeof(RecordHeader) + 8 * (columns + 1); }

std::vector<std::byte> pack_column(std::span<const std::uint64_t> column, FrameCoding coding) {
  if (coding == FrameCoding::differences) return encode_line_column(column);
  PayloadBuilder builder(Codec::integer, column.size(), 0, 0);
  builder.reserve_table();
  for (std::size_t first = 0; first < column.size(); first += frame_entries) {
    builder.add_frame(column.subspan(first, std::min<std::size_t>(frame_entries, column.size() - first)), coding);
  }
  return builder.finish();
}

[[noreturn]] void fail() { throw Error(ErrorKind::corrupt, "a spilled record is damaged; run the job again"); }

bool has_frames(Codec codec) { return codec == Codec::line || codec == Codec::integer; }

template <class Value, class Decode>
void unpack(std::span<const std::byte> payload, std::uint32_t count, RawVector<Value>& out, const Decode& decode) {
  const PayloadView view = check_payload(payload, count);
  if (view.count != count || (std::is_same_v<Value, std::uint64_t> && !has_frames(view.codec))) fail();
  const std::uint64_t frames = (count + frame_entries - 1) / frame_entries;
  out.resize(frames * frame_entries);
  for (std::uint64_t f = 0; f < frames; ++f) decode(view, f, out.data() + f * frame_entries);
  out.resize(count);
}

RecordHeader read_header(std::span<const std::byte> start) {
  RecordHeader header;
  std::memcpy(&header, start.data(), sizeof(header));
  const bool legal = header.magic == record_magic && header.count > 0 && header.count <= max_chunk_nnz &&
                     header.columns <= max_order && header.bytes % 8 == 0 &&
                     header.bytes >= table_end(header.columns) &&
                     header.bytes <= max_record_bytes(header.columns, header.count);
  if (!legal) fail();
  return header;
}

std::uint32_t table_crc(std::span<const std::byte> record, std::uint32_t columns) {
  return crc32c(record.subspan(crc_end, table_end(columns) - crc_end));
}

// Disk space is freed in steps, because each one updates the file system's metadata.
constexpr std::uint64_t release_step_bytes = std::uint64_t{4} << 20;

}  // namespace

void append_record(std::span<const std::span<const std::uint64_t>> columns, FrameCoding coding,
                   std::span<const double> values, std::vector<std::byte>& out) {
  const std::size_t begin = out.size();
  std::vector<std::uint64_t> lengths;
  out.resize(begin + table_end(columns.size()));
  const auto append = [&](const std::vector<std::byte>& payload) {
    lengths.push_back(payload.size());
    out.insert(out.end(), payload.begin(), payload.end());
    out.resize(begin + round_up(out.size() - begin));
  };
  for (const std::span<const std::uint64_t> column : columns) append(pack_column(column, coding));
  append(encode_values(values));
  const std::span<std::byte> record = std::span(out).subspan(begin);
  RecordHeader header{record_magic, 0, static_cast<std::uint32_t>(values.size()),
                      static_cast<std::uint32_t>(columns.size()), record.size()};
  std::memcpy(record.data(), &header, sizeof(header));
  std::memcpy(record.data() + sizeof(header), lengths.data(), 8 * lengths.size());
  header.crc = table_crc(record, header.columns);
  std::memcpy(record.data(), &header, sizeof(header));
}

std::uint64_t max_record_bytes(std::uint64_t columns, std::uint64_t count) {
  return table_end(columns) + (columns + 1) * round_up(max_payload_bytes(count));
}

std::uint64_t record_bytes(std::span<const std::byte> start) { return read_header(start).bytes; }

void read_record(std::span<const std::byte> record, FrameCoding coding,
                 std::span<RawVector<std::uint64_t>* const> columns, RawVector<double>& values) {
  const RecordHeader header = read_header(record);
  if (header.bytes != record.size() || header.columns != columns.size()) fail();
  if (header.crc != table_crc(record, header.columns)) fail();
  std::uint64_t at = table_end(header.columns);
  const auto take = [&](std::size_t column) {
    std::uint64_t length = 0;
    std::memcpy(&length, record.data() + sizeof(RecordHeader) + 8 * column, sizeof(length));
    if (length > record.size() - at) fail();
    const std::span<const std::byte> payload = record.subspan(at, length);
    at = std::min<std::uint64_t>(at + round_up(length), record.size());
    return payload;
  };
  for (std::size_t c = 0; c < columns.size(); ++c) {
    unpack(take(c), header.count, *columns[c],
           [coding](const PayloadView& view, std::uint64_t frame, std::uint64_t* out) {
             decode_frame(view.frame(frame), unpack_descriptor(view.entry(frame).descriptor), coding, view.base, out);
           });
  }
  const std::span<const std::byte> packed_values = take(columns.size());
  if (packed_values.empty()) {
    values.assign(header.count, 1.0);
  } else {
    unpack(packed_values, header.count, values, decode_value_frame);
  }
}

RecordStream::RecordStream(const ScratchFile& file, std::uint64_t begin, std::uint64_t end, std::uint64_t buffer_bytes)
    : file_(&file),
      at_(begin),
      end_(end),
      released_(begin),
      buffer_(std::min(std::max<std::uint64_t>(buffer_bytes, sizeof(RecordHeader)), end - begin) / 8) {}

std::span<const std::byte> RecordStream::buffered() const {
  return std::as_bytes(std::span(buffer_)).subspan(first_, filled_ - first_);
}

void RecordStream::refill() {
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(buffer_));
  std::memmove(bytes.data(), bytes.data() + first_, filled_ - first_);
  filled_ -= first_;
  first_ = 0;
  const std::uint64_t count = std::min<std::uint64_t>(bytes.size() - filled_, end_ - at_);
  file_->read(at_, bytes.subspan(filled_, count));
  filled_ += count;
  at_ += count;
  if (at_ < end_) file_->announce(at_, std::min<std::uint64_t>(bytes.size(), end_ - at_));
  if (at_ - released_ >= release_step_bytes || at_ == end_) {
    file_->release(released_, at_ - released_);
    released_ = at_;
  }
}

std::span<const std::byte> RecordStream::next() {
  if (buffered().size() < sizeof(RecordHeader) && at_ < end_) refill();
  if (buffered().empty()) return {};
  if (buffered().size() < sizeof(RecordHeader)) throw Error(ErrorKind::corrupt, "a spilled record is cut off");
  const std::uint64_t bytes = record_bytes(buffered());
  if (bytes > buffered().size() + (end_ - at_)) throw Error(ErrorKind::corrupt, "a spilled record is cut off");
  if (bytes > 8 * buffer_.size()) buffer_.resize(bytes / 8);
  if (bytes > buffered().size()) refill();
  const std::span<const std::byte> record = buffered().first(bytes);
  first_ += bytes;
  return record;
}

}  // namespace blco
