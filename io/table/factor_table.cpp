// Writes rows of labels and numbers through a buffer.
#include "io/table/factor_table.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>

#include "io/file/output_file.hpp"
#include "io/table/csv_field.hpp"

namespace blco {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{256} << 10;
constexpr char separator = ',';

std::string header_of(const FactorTable& table) {
  std::string name(table.name.empty() ? "index" : table.name);
  const auto column_name = [&](std::uint64_t column) { return std::string(table.column) + std::to_string(column); };
  // No column's name ends in an underscore, so one suffices.
  for (std::uint64_t r = 0; r < table.rank; ++r) {
    if (name == column_name(r)) name += '_';
  }
  std::string line;
  append_csv_field(name, separator, line);
  for (std::uint64_t r = 0; r < table.rank; ++r) line.append(1, separator).append(column_name(r));
  return line + '\n';
}

// Large numbers have an exponent, because pandas does not read integers beyond 64 bits as numbers.
void append_number(double number, std::string& text) {
  std::array<char, 32> digits;
  char* const end = digits.data() + digits.size();
  const bool is_large = std::abs(number) >= 0x1p53;
  text.append(digits.data(), is_large ? std::to_chars(digits.data(), end, number, std::chars_format::scientific).ptr
                                      : std::to_chars(digits.data(), end, number).ptr);
}

}  // namespace

void write_factor_table(const std::filesystem::path& path, const std::filesystem::path& shown,
                        const FactorTable& table) {
  OutputFile file(path, shown);
  std::string text = header_of(table);
  const std::uint64_t rows = table.factor.size() / table.rank;
  for (std::uint64_t row = 0; row < rows; ++row) {
    if (table.labels.empty()) {
      text += std::to_string(row + static_cast<std::uint64_t>(table.index_base));
    } else {
      append_csv_field(table.labels[row], separator, text);
    }
    const auto first = static_cast<std::size_t>(row * table.rank);
    for (const double number : table.factor.subspan(first, static_cast<std::size_t>(table.rank))) {
      text += separator;
      append_number(number, text);
    }
    text += '\n';
    file.write_from(text, buffer_bytes);
  }
  file.write(text);
  file.close();
}

}  // namespace blco
