// Refills the buffer before a record would cross its end.
#include "io/file/record_stream.hpp"

#include <algorithm>
#include <cstring>

#include "blco/error.hpp"
#include "io/file/packed_record.hpp"

namespace blco {
namespace {

// Disk space is freed in steps, because each one updates the file system's metadata.
constexpr std::uint64_t release_step_bytes = std::uint64_t{4} << 20;

}  // namespace

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
