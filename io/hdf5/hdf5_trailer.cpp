// Writes and checks the trailer; walks over global heaps as section III.E of the HDF5 file format describes them.
#include "io/hdf5/hdf5_trailer.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "blco/crc32c.hpp"
#include "blco/error.hpp"
#include "blco/refuse.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the trailer is little-endian");

struct TrailerHeader {
  std::array<char, 8> magic = {'B', 'L', 'C', 'O', 'T', 'A', 'I', 'L'};
  std::uint32_t version = 1;
  std::uint32_t crc = 0;         // of the bytes of all ranges, concatenated
  std::uint64_t hdf5_bytes = 0;  // where the trailer starts
  std::uint64_t range_count = 0;
};
static_assert(sizeof(TrailerHeader) == 32 && sizeof(ByteRange) == 16);

// After the ranges: the checksum of header and ranges, and four zero bytes.
constexpr std::uint64_t end_bytes = 8;
constexpr std::size_t scan_bytes = std::size_t{1} << 20;

[[noreturn]] void fail_corrupt(const fs::path& path, const std::string& what) {
  throw Error(ErrorKind::corrupt, path.string() + ": " + what + "; restore it from a copy, or make it again");
}

template <class T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, &bytes[at], sizeof(T));
  return value;
}

std::uint32_t checksum(int descriptor, const fs::path& path, std::span<const ByteRange> ranges) {
  std::vector<std::byte> buffer(scan_bytes);
  std::uint32_t crc = 0;
  for (ByteRange left : ranges) {
    while (left.length > 0) {
      const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(left.length, buffer.size()));
      const std::span<std::byte> part = std::span(buffer).first(want);
      read_at(descriptor, path, left.offset, part);
      crc = crc32c(part, crc);
      left.offset += want;
      left.length -= want;
    }
  }
  return crc;
}

// The end of the HDF5 data according to the superblock; nothing if it is not of the kind that we write.
std::optional<std::uint64_t> find_hdf5_end(int descriptor, const fs::path& path, std::uint64_t file_bytes) {
  constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  constexpr std::size_t version_at = 8;
  constexpr std::size_t offset_size_at = 9;
  constexpr std::size_t base_at = 12;
  constexpr std::size_t end_at = 28;
  std::array<std::byte, 48> block{};
  if (file_bytes < block.size()) return {};
  read_at(descriptor, path, 0, block);
  const auto version = static_cast<int>(block[version_at]);
  const bool is_known = std::memcmp(block.data(), signature.data(), signature.size()) == 0 &&
                        (version == 2 || version == 3) && static_cast<int>(block[offset_size_at]) == 8 &&
                        load<std::uint64_t>(block, base_at) == 0;
  return is_known ? std::optional(load<std::uint64_t>(block, end_at)) : std::nullopt;
}

// Reads the header and the ranges, and verifies their checksum.
TrailerHeader read_trailer(int descriptor, const fs::path& path, ByteRange place, std::vector<ByteRange>& ranges) {
  TrailerHeader header;
  const std::string damaged =
      "the last " + std::to_string(place.length) +
      " bytes, after its HDF5 data, are not its checksums: it was truncated, damaged or appended to (a file "
      "that another program wrote is accepted after h5repack)";
  if (place.length < sizeof(header) + end_bytes) fail_corrupt(path, damaged);
  read_at(descriptor, path, place.offset, std::as_writable_bytes(std::span(&header, 1)));
  const std::uint64_t room = place.length - sizeof(header) - end_bytes;
  if (header.magic != TrailerHeader{}.magic || header.hdf5_bytes != place.offset || room % sizeof(ByteRange) != 0 ||
      header.range_count != room / sizeof(ByteRange)) {
    fail_corrupt(path, damaged);
  }
  ranges.resize(static_cast<std::size_t>(header.range_count));
  const std::uint64_t ranges_at = place.offset + sizeof(header);
  read_at(descriptor, path, ranges_at, std::as_writable_bytes(std::span(ranges)));
  std::uint64_t stored = 0;
  read_at(descriptor, path, ranges_at + room, std::as_writable_bytes(std::span(&stored, 1)));
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(ranges)), crc32c(std::as_bytes(std::span(&header, 1))));
  if (stored != crc) fail_corrupt(path, damaged);
  return header;
}

// A global heap's signature, version 1 and three bytes of zero. Its header and those of its objects have 16 bytes, the
// last 8 of which are a size.
constexpr std::string_view heap_start("GCOL\1\0\0\0", 8);
constexpr std::uint64_t heap_header_bytes = 16;
constexpr std::uint64_t max_heap_bytes = std::uint64_t{1} << 30;

// Objects are contiguous up to the free space, which is object 0 and extends to the heap's end.
bool is_whole_heap(std::span<const std::byte> heap) {
  std::uint64_t at = heap_header_bytes;
  while (at <= heap.size() && heap.size() - at >= heap_header_bytes) {
    const auto size = load<std::uint64_t>(heap, at + 8);
    const std::uint64_t room = heap.size() - at;
    if (load<std::uint16_t>(heap, at) == 0) return size == room;
    if (size > room - heap_header_bytes) return false;
    at += heap_header_bytes + (size + 7) / 8 * 8;
  }
  return at <= heap.size();
}

bool is_whole_heap_at(int descriptor, const fs::path& path, std::uint64_t file_bytes, std::uint64_t at) {
  std::vector<std::byte> heap(heap_header_bytes);
  if (file_bytes - at < heap.size()) return false;
  read_at(descriptor, path, at, heap);
  const auto size = load<std::uint64_t>(heap, 8);
  if (size < heap_header_bytes || size > file_bytes - at || size > max_heap_bytes) return false;
  heap.resize(static_cast<std::size_t>(size));
  read_at(descriptor, path, at, heap);
  return is_whole_heap(heap);
}

}  // namespace

std::vector<ByteRange> complement(std::vector<ByteRange> excluded, std::uint64_t end) {
  std::ranges::sort(excluded, {}, &ByteRange::offset);
  std::vector<ByteRange> ranges;
  std::uint64_t at = 0;
  for (const ByteRange& hole : excluded) {
    if (hole.length == 0) continue;
    if (hole.offset > at) ranges.push_back({at, std::min(hole.offset, end) - at});
    at = std::max(at, hole.offset + hole.length);
    if (at >= end) return ranges;
  }
  if (at < end) ranges.push_back({at, end - at});
  return ranges;
}

std::uint64_t append_trailer(int descriptor, const fs::path& path, std::uint64_t hdf5_bytes,
                             std::vector<ByteRange> excluded) {
  const std::vector<ByteRange> ranges = complement(std::move(excluded), hdf5_bytes);
  TrailerHeader header;
  header.crc = checksum(descriptor, path, ranges);
  header.hdf5_bytes = hdf5_bytes;
  header.range_count = ranges.size();
  const auto list = std::as_bytes(std::span(ranges));
  const std::uint64_t crc = crc32c(list, crc32c(std::as_bytes(std::span(&header, 1))));
  const auto write = [&](std::uint64_t offset, std::span<const std::byte> bytes) {
    if (const int failure = write_at(descriptor, offset, bytes)) throw_system_error("write", path, failure);
  };
  write(hdf5_bytes, std::as_bytes(std::span(&header, 1)));
  write(hdf5_bytes + sizeof(header), list);
  write(hdf5_bytes + sizeof(header) + list.size(), std::as_bytes(std::span(&crc, 1)));
  return hdf5_bytes + sizeof(header) + list.size() + end_bytes;
}

void check_trailer(int descriptor, const fs::path& path, std::uint64_t file_bytes) {
  const std::optional<std::uint64_t> end = find_hdf5_end(descriptor, path, file_bytes);
  if (!end || *end == file_bytes) return;
  if (*end > file_bytes) {
    fail_corrupt(path, "truncated: the file has " + std::to_string(file_bytes) + " of its " + std::to_string(*end) +
                           " bytes of HDF5 data");
  }
  std::vector<ByteRange> ranges;
  const TrailerHeader header = read_trailer(descriptor, path, {*end, file_bytes - *end}, ranges);
  if (header.version != TrailerHeader{}.version) {
    refuse(path.string() + ": its checksums have version " + std::to_string(header.version) +
           ", which is newer than this build of blco; use a newer build");
  }
  std::uint64_t at = 0;
  for (const ByteRange& range : ranges) {
    if (range.offset < at || range.offset > *end || range.length > *end - range.offset) {
      fail_corrupt(path, "its checksums cover bytes that it does not have");
    }
    at = range.offset + range.length;
  }
  if (checksum(descriptor, path, ranges) != header.crc) {
    fail_corrupt(path, "the checksum over the " + std::to_string(*end) +
                           " bytes of the file (payloads have their own) does not match: it is damaged");
  }
}

bool has_trailer(int descriptor, const fs::path& path, std::uint64_t file_bytes) {
  const std::optional<std::uint64_t> end = find_hdf5_end(descriptor, path, file_bytes);
  return end && *end < file_bytes;
}

void check_global_heaps(int descriptor, const fs::path& path, std::uint64_t file_bytes) {
  if (has_trailer(descriptor, path, file_bytes)) return;  // it covers them
  std::string part;
  for (std::uint64_t first = 0; first < file_bytes; first += scan_bytes) {
    part.resize(
        static_cast<std::size_t>(std::min<std::uint64_t>(scan_bytes + heap_start.size() - 1, file_bytes - first)));
    read_at(descriptor, path, first, std::as_writable_bytes(std::span(part)));
    for (std::size_t at = part.find(heap_start); at != std::string::npos; at = part.find(heap_start, at + 1)) {
      if (is_whole_heap_at(descriptor, path, file_bytes, first + at)) continue;
      fail_corrupt(path, "the texts at byte " + std::to_string(first + at) + " (a global heap of HDF5) are damaged");
    }
  }
}

}  // namespace blco
