// Walks over global heaps as section III.E of the HDF5 file format specification describes them.
#include "io/hdf5/hdf5_heap.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blco/error.hpp"
#include "io/file/transfer.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

// Signature, version 1 and three bytes of zero.
constexpr std::string_view heap_start = "GCOL\1\0\0\0"sv;
constexpr std::uint64_t heap_header_bytes = 16;
constexpr std::uint64_t object_header_bytes = 16;
constexpr std::uint64_t max_heap_bytes = std::uint64_t{1} << 30;
constexpr std::size_t step_bytes = std::size_t{1} << 20;

std::uint64_t load_u64(const char* at) {
  std::uint64_t value = 0;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

// Objects are contiguous up to the free space, which is object 0 and extends to the heap's end.
bool is_whole(std::string_view heap) {
  std::uint64_t at = heap_header_bytes;
  while (heap.size() - at >= object_header_bytes) {
    std::uint16_t index = 0;
    std::memcpy(&index, &heap[at], sizeof(index));
    const std::uint64_t size = load_u64(&heap[at + 8]);
    const std::uint64_t room = heap.size() - at;
    if (index == 0) return size == room;
    if (size > room - object_header_bytes) return false;
    at += object_header_bytes + (size + 7) / 8 * 8;
    if (at > heap.size()) return false;
  }
  return true;
}

void check_heap(int descriptor, const fs::path& path, std::uint64_t file_bytes, std::uint64_t at) {
  const auto fail = [&] {
    throw Error(ErrorKind::corrupt,
                path.string() + ": the texts at byte " + std::to_string(at) +
                    " (a global heap of HDF5) are damaged; restore it from a copy, or make it again");
  };
  std::string heap(heap_header_bytes, '\0');
  if (file_bytes - at < heap.size()) fail();
  read_at(descriptor, path, at, std::as_writable_bytes(std::span(heap)));
  const std::uint64_t size = load_u64(&heap[8]);
  if (size < heap_header_bytes || size > file_bytes - at || size > max_heap_bytes) fail();
  heap.resize(static_cast<std::size_t>(size));
  read_at(descriptor, path, at, std::as_writable_bytes(std::span(heap)));
  if (!is_whole(heap)) fail();
}

}  // namespace

void check_global_heaps(int descriptor, const fs::path& path, std::uint64_t file_bytes) {
  const std::size_t overlap = heap_start.size() - 1;
  std::string part;
  for (std::uint64_t first = 0; first < file_bytes; first += step_bytes) {
    part.resize(static_cast<std::size_t>(std::min<std::uint64_t>(step_bytes + overlap, file_bytes - first)));
    read_at(descriptor, path, first, std::as_writable_bytes(std::span(part)));
    for (std::size_t at = part.find(heap_start); at != std::string::npos; at = part.find(heap_start, at + 1)) {
      check_heap(descriptor, path, file_bytes, first + at);
    }
  }
}

}  // namespace blco
