// The cells of a column of an Arrow batch, where they lie: types, bitmaps, offsets, texts and dictionaries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "blco/arrow_abi.hpp"

namespace blco {

enum class ArrowStorage {
  none,
  bits,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  f16,
  f32,
  f64,
  decimal,
  text,
  large_text,
  view
};

// A float of 16 bits, binary16 of IEEE 754: a sign, 5 bits of exponent, 10 of fraction.
struct HalfFloat {
  std::uint16_t bits = 0;
  explicit operator double() const;
};

struct ArrowType {
  ArrowStorage storage = ArrowStorage::none;  // none: nothing here reads it
  std::string name = {};                      // as messages show it: "timestamp[us, tz=UTC]"
  std::int64_t per_day = 0;                   // of a date or time, whose numbers count so many parts of a day; else 0
  int scale = 0;                              // of decimals: digits behind the point
  std::string zone = {};                      // of times that count from 1970 in UTC; empty: by an unknown clock
  std::string extension = {};                 // the name of a type that is stored as this one; empty: none

  bool is_time() const { return per_day != 0; }
  bool is_text() const { return storage >= ArrowStorage::text; }
  bool is_float() const { return storage >= ArrowStorage::f16 && storage <= ArrowStorage::f64; }
  bool is_integer() const { return !is_time() && storage >= ArrowStorage::i8 && storage <= ArrowStorage::u64; }
  bool is_number() const { return is_integer() || is_float() || storage == ArrowStorage::decimal; }
};

// The type that a format string means, of columns without a dictionary.
ArrowType arrow_type_of(const ArrowSchema& schema);

// Calls visit(numbers), a pointer to the first of them. Requires: integers, or dates and times.
template <class Visit>
auto visit_integers(ArrowStorage storage, const void* data, const Visit& visit) {
  switch (storage) {
    case ArrowStorage::i8:
      return visit(static_cast<const std::int8_t*>(data));
    case ArrowStorage::u8:
      return visit(static_cast<const std::uint8_t*>(data));
    case ArrowStorage::i16:
      return visit(static_cast<const std::int16_t*>(data));
    case ArrowStorage::u16:
      return visit(static_cast<const std::uint16_t*>(data));
    case ArrowStorage::i32:
      return visit(static_cast<const std::int32_t*>(data));
    case ArrowStorage::u32:
      return visit(static_cast<const std::uint32_t*>(data));
    case ArrowStorage::u64:
      return visit(static_cast<const std::uint64_t*>(data));
    default:
      return visit(static_cast<const std::int64_t*>(data));
  }
}

// The same of integers or floats.
template <class Visit>
auto visit_numbers(ArrowStorage storage, const void* data, const Visit& visit) {
  if (storage == ArrowStorage::f16) return visit(static_cast<const HalfFloat*>(data));
  if (storage == ArrowStorage::f32) return visit(static_cast<const float*>(data));
  if (storage == ArrowStorage::f64) return visit(static_cast<const double*>(data));
  return visit_integers(storage, data, visit);
}

// Cells are counted from the first of the array, after its offset. The array must outlive this.
class ArrowCells {
 public:
  ArrowCells() = default;
  // `skip` further cells at the start are left out. Throws Error{corrupt}, without a place, if the array is none of
  // this type with `count` cells behind them, or has texts that end before they begin.
  ArrowCells(const ArrowArray& array, const ArrowType& type, std::int64_t skip, std::int64_t count);

  // Reads the same buffers by another array, which then must outlive this.
  void follow(const ArrowArray& array) { array_ = &array; }

  bool has_nulls() const { return valid_ != nullptr; }
  bool is_null(std::size_t cell) const {
    const std::size_t at = first_ + cell;
    return valid_ != nullptr && (valid_[at / 8] >> (at % 8) & 1) == 0;
  }
  // Where the numbers begin.
  const void* data() const;

  // Requires: a cell of that type that is not null. A decimal is rounded to the nearest double.
  std::string_view text(std::size_t cell) const;
  bool boolean(std::size_t cell) const;
  double number(std::size_t cell) const;
  std::int64_t time(std::size_t cell) const;  // seconds since 1970, rounded down
  // As text has it: whole numbers, true and false too.
  std::string text_of_number(std::size_t cell) const;

 private:
  double decimal(std::size_t cell) const;

  ArrowType type_;
  const ArrowArray* array_ = nullptr;
  const std::uint8_t* valid_ = nullptr;
  std::size_t first_ = 0;
};

}  // namespace blco
