// Arrays of coordinates and values in a file, as a reader of coordinates takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/arrays/number_type.hpp"

namespace blco {

// Columns that are read together: of one array, or of one of its rows.
struct CooPart {
  std::string array;  // its name in the file
  std::size_t first_mode = 0;
  std::size_t modes = 1;  // 0: the values
  NumberType type;
  bool is_entry_major = false;  // in what read_part() gives: all modes of an entry side by side

  std::size_t columns() const { return modes == 0 ? 1 : modes; }
  std::size_t entry_bytes() const { return columns() * type.bytes; }
};

class CooSource {
 public:
  virtual ~CooSource() = default;

  virtual const std::filesystem::path& path() const = 0;
  virtual std::uint64_t entry_count() const = 0;
  // Those of the coordinates, together one column for each mode, and one of the values, which is the last.
  virtual const std::vector<CooPart>& parts() const = 0;
  // The shape that the file gives, of one length per mode; empty where it gives none.
  virtual const std::vector<std::uint64_t>& shape() const = 0;

  // Reads the next `count` entries of a part; `out` has count * entry_bytes(). May be called for different parts at the
  // same time. Throws Error: io, corrupt.
  virtual void read_part(std::size_t part, std::size_t count, std::span<std::byte> out) = 0;

  // After the last entry: throws Error{corrupt} where a checksum says that what was read is damaged.
  virtual void finish() {}

  virtual std::uint64_t file_bytes() const = 0;
  // Memory beside what read_part() is given.
  virtual std::uint64_t memory_bytes() const = 0;
  virtual std::string format() const = 0;
};

}  // namespace blco
