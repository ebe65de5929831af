// Number types in other programs' arrays: integers and reals of any width and byte order.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace blco {

enum class NumberKind : std::uint8_t { boolean, signed_integer, unsigned_integer, real };

struct NumberType {
  NumberKind kind = NumberKind::signed_integer;
  std::uint8_t bytes = 8;  // 1, 2, 4 or 8; a real has 4 or 8, a boolean 1
  bool is_big_endian = false;

  bool is_integer() const { return kind == NumberKind::signed_integer || kind == NumberKind::unsigned_integer; }
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
  const auto with_width = [&]<class Byte, class Two, class Four, class Eight>(Byte one, Two two, Four four,
                                                                              Eight eight) {
    if (type.bytes == 1) return with(one);
    if (type.bytes == 2) return with(two);
    if (type.bytes == 4) return with(four);
    with(eight);
  };
  switch (type.kind) {
    case NumberKind::boolean:
      return visit([](const std::byte* bytes) -> std::uint8_t { return *bytes != std::byte{0}; });
    case NumberKind::signed_integer:
      return with_width(std::int8_t{}, std::int16_t{}, std::int32_t{}, std::int64_t{});
    case NumberKind::unsigned_integer:
      return with_width(std::uint8_t{}, std::uint16_t{}, std::uint32_t{}, std::uint64_t{});
    case NumberKind::real:
      return type.bytes == 4 ? with(float{}) : with(double{});
  }
}

}  // namespace blco
