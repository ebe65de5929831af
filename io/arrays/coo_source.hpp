// Arrays of coordinates and values in a file: the input of a coordinate reader.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace blco {

// Number types in other programs' arrays: integers and reals of any width and byte order.
enum class NumberKind : std::uint8_t { boolean, signed_integer, unsigned_integer, real };

struct NumberType {
  NumberKind kind = NumberKind::signed_integer;
  std::uint8_t bytes = 8;  // 1, 2, 4 or 8; a real has 4 or 8, a boolean 1
  bool is_big_endian = false;
};

template <class T, bool big_endian>
T load_number(const std::byte* bytes) {
  if constexpr (big_endian == (std::endian::native == std::endian::big)) {
    T number;
    std::memcpy(&number, bytes, sizeof(T));
    return number;
  } else {
    std::array<std::byte, sizeof(T)> swapped;
    for (std::size_t i = 0; i < sizeof(T); ++i) swapped[i] = bytes[sizeof(T) - 1 - i];
    return std::bit_cast<T>(swapped);
  }
}

// Calls visit(load), where load(const std::byte*) returns a number of the type.
template <class Visit>
void visit_number(NumberType type, Visit&& visit) {
  const auto with = [&]<class T>(T) {
    if (type.is_big_endian) {
      visit([](const std::byte* bytes) { return load_number<T, true>(bytes); });
    } else {
      visit([](const std::byte* bytes) { return load_number<T, false>(bytes); });
    }
  };
  const auto with_width = [&]<class... T>(T... widths) { ((sizeof(T) == type.bytes ? with(widths) : void()), ...); };
  switch (type.kind) {
    case NumberKind::boolean:
      return visit([](const std::byte* bytes) -> std::uint8_t { return *bytes != std::byte{0}; });
    case NumberKind::signed_integer:
      return with_width(std::int8_t{}, std::int16_t{}, std::int32_t{}, std::int64_t{});
    case NumberKind::unsigned_integer:
      return with_width(std::uint8_t{}, std::uint16_t{}, std::uint32_t{}, std::uint64_t{});
    case NumberKind::real:
      return with_width(float{}, double{});
  }
}

// A coordinate of 2^64-1 would need a mode of length 2^64.
inline constexpr std::uint64_t no_index = std::numeric_limits<std::uint64_t>::max();

// A number as an index: negative integers become those from 2^63 on. A real has to be whole, and so small that its type
// has all whole numbers up to it; else it is no_index.
template <class T>
std::uint64_t index_of_number(T number) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr auto most = static_cast<T>(std::uint64_t{1} << std::numeric_limits<T>::digits);
    const bool is_index = number >= 0 && number <= most && number == std::trunc(number);
    return is_index ? static_cast<std::uint64_t>(number) : no_index;
  } else {
    return static_cast<std::uint64_t>(number);
  }
}

// Columns that are read together: those of one array, or of one of its rows.
struct CooPart {
  std::string array;  // name in the file
  std::size_t first_mode = 0;
  std::size_t modes = 1;  // 0: the values
  NumberType type;
  bool is_entry_major = false;  // in the bytes that read_part() returns: all modes of an entry are adjacent

  std::size_t columns() const { return modes == 0 ? 1 : modes; }
  std::size_t entry_bytes() const { return columns() * type.bytes; }
};

class CooSource {
 public:
  explicit CooSource(std::filesystem::path path) : path_(std::move(path)) {}
  virtual ~CooSource() = default;

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t entry_count() const { return entry_count_; }
  // The parts of the coordinates, which together hold one column per mode, then one part of values, the last; without
  // values it is absent.
  const std::vector<CooPart>& parts() const { return parts_; }
  // The shape that the file declares, one length per mode; empty if none.
  const std::vector<std::uint64_t>& shape() const { return shape_; }

  // Reads the next `count` entries of a part into `out`, which has count * entry_bytes(). Different parts may be read
  // at the same time. Throws Error: io, corrupt.
  virtual void read_part(std::size_t part, std::size_t count, std::span<std::byte> out) = 0;

  // Call after the last entry. Throws Error{corrupt} if a checksum shows that the data is damaged.
  virtual void finish() {}

  virtual std::uint64_t file_bytes() const = 0;
  // Memory of the source, without the buffers passed to read_part().
  virtual std::uint64_t memory_bytes() const = 0;
  virtual std::string format() const = 0;

 protected:
  std::filesystem::path path_;
  std::vector<CooPart> parts_;
  std::vector<std::uint64_t> shape_;
  std::uint64_t entry_count_ = 0;
};

}  // namespace blco
