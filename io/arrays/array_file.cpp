// Writes .npy (format 1.0) and text arrays through a buffer.
#include "io/arrays/array_file.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cstddef>
#include <string>

#include "io/file/output_file.hpp"

namespace blco {
namespace {

static_assert(std::endian::native == std::endian::little, "doubles are written as they lie in memory");

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;

// Magic, version, length and a Python dictionary, padded with blanks to a multiple of 64 bytes.
std::string npy_header(std::span<const std::uint64_t> extents) {
  std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (";
  for (const std::uint64_t extent : extents) text.append(std::to_string(extent)).append(",");
  text.append("), }");
  constexpr std::size_t start_bytes = 10;
  text.append(63 - (start_bytes + text.size()) % 64, ' ');
  text.push_back('\n');
  std::string header = "\x93NUMPY";
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, text.size() & 0xff, text.size() >> 8}) {
    header.push_back(static_cast<char>(byte));
  }
  return header.append(text);
}

}  // namespace

void write_npy(const std::filesystem::path& path, const std::filesystem::path& shown,
               std::span<const std::uint64_t> extents, std::span<const double> values) {
  OutputFile file(path, shown);
  file.write(npy_header(extents));
  file.write({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  file.close();
}

void write_text_array(const std::filesystem::path& path, const std::filesystem::path& shown,
                      std::span<const std::uint64_t> extents, std::span<const double> values) {
  OutputFile file(path, shown);
  const std::uint64_t columns = extents.size() > 1 ? extents[1] : 1;
  std::string text;
  std::array<char, 32> digits;
  for (std::size_t i = 0; i < values.size(); ++i) {
    text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), values[i]).ptr);
    text += (i + 1) % columns == 0 ? '\n' : ' ';
    file.write_from(text, buffer_bytes);
  }
  file.write(text);
  file.close();
}

}  // namespace blco
