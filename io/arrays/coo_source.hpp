// Arrays of coordinates and values in a file: the input of a coordinate reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/arrays/number_type.hpp"

namespace blco {

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
  virtual ~CooSource() = default;

  virtual const std::filesystem::path& path() const = 0;
  virtual std::uint64_t entry_count() const = 0;
  // The parts of the coordinates, which together hold one column per mode, then one part of values, the last.
  virtual const std::vector<CooPart>& parts() const = 0;
  // The shape that the file declares, one length per mode; empty if none.
  virtual const std::vector<std::uint64_t>& shape() const = 0;

  // Reads the next `count` entries of a part into `out`, which has count * entry_bytes(). Different parts may be read
  // at the same time. Throws Error: io, corrupt.
  virtual void read_part(std::size_t part, std::size_t count, std::span<std::byte> out) = 0;

  // Call after the last entry. Throws Error{corrupt} if a checksum shows that the data is damaged.
  virtual void finish() {}

  virtual std::uint64_t file_bytes() const = 0;
  // Memory of the source, without the buffers passed to read_part().
  virtual std::uint64_t memory_bytes() const = 0;
  virtual std::string format() const = 0;
};

}  // namespace blco
