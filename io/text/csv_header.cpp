// Finds the header of a delimited text, its separator, and the requested columns.
#include "io/text/csv_header.hpp"

#include <algorithm>
#include <array>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "io/text/mode_column.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
constexpr std::array separators = {',', '\t', ';'};

bool is_tsv(const fs::path& file) {
  const std::string name = file.filename().string();
  return std::ranges::any_of(std::array{".tsv", ".tsv.gz", ".tsv.zst"},
                             [&](const char* ending) { return name.ends_with(ending); });
}

char guess_separator(std::string_view line) {
  std::array<std::size_t, separators.size()> counts{};
  bool is_quoted = false;
  for (const char c : line) {
    is_quoted = is_quoted != (c == '"');
    for (std::size_t i = 0; i < separators.size() && !is_quoted; ++i) counts[i] += c == separators[i];
  }
  return separators[static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin())];
}

void check_encoding(std::string_view text, const std::string& place) {
  if (text.starts_with("\x89HDF"))
    refuse(place + "this is an HDF5 file, not text; if it is a container, use it as it is");
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || text.substr(0, 64).find('\0') != text.npos) {
    refuse(place + "this is UTF-16, or not text at all; save it as UTF-8 (for example: iconv -f UTF-16 -t UTF-8)");
  }
}

// Position of the only column with this name.
std::size_t find_column(const CsvHeader& header, const std::string& name, const char* option, const fs::path& file) {
  const auto count = std::ranges::count(header.names, name);
  if (count == 0) {
    refuse(file.string() + " has no column " + quoted_for_message(name) + ", which " + option_name(option) +
           " asks for; its columns are: " + list_columns(header.names));
  }
  if (count > 1) {
    refuse(file.string() + " has " + std::to_string(count) + " columns named " + quoted_for_message(name) + ", which " +
           option_name(option) + " asks for; rename all but one in its header");
  }
  return static_cast<std::size_t>(std::ranges::find(header.names, name) - header.names.begin());
}

ComputedForm make_reading(const FieldReading& reading, const CsvColumns& columns) {
  ComputedForm form{.reading = reading, .decimal = columns.decimal};
  std::uint64_t word = 0;
  // What the mode can read has a label already.
  if (form.is_computed() && !columns.missing_key.empty() && !word_of_field(columns.missing_key, form, word)) {
    form.missing_key = columns.missing_key;
  }
  return form;
}

}  // namespace

std::optional<CsvHeader> find_csv_header(std::string_view text, bool is_first_text, char separator,
                                         const fs::path& file, std::uint64_t lines_before) {
  CsvHeader header;
  const auto place = [&] {
    return "line " + std::to_string(lines_before + header.lines) + " of " + file.string() + ": ";
  };
  if (is_first_text && text.starts_with(byte_order_mark)) header.bytes = byte_order_mark.size();
  while (header.bytes < text.size()) {
    const std::size_t end = text.find('\n', header.bytes);
    std::string_view line = text.substr(header.bytes, end - header.bytes);
    header.bytes = end + 1;
    ++header.lines;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    check_encoding(line, place());
    header.separator = separator != 0 ? separator : is_tsv(file) ? '\t' : guess_separator(line);
    try {
      header.names = split_csv_line(std::string(line), header.separator);
    } catch (const Error& error) {
      refuse(place() + error.what());
    }
    return header;
  }
  return std::nullopt;
}

CsvForm make_csv_form(const CsvHeader& header, const CsvColumns& columns, const fs::path& file) {
  CsvForm form;
  form.separator = header.separator;
  form.names = header.names;
  form.roles.assign(header.names.size(), CsvForm::unused);
  form.order = static_cast<int>(columns.modes.size());
  form.same_column.assign(columns.modes.size(), CsvForm::unused);
  for (const ModeColumn& mode : parse_mode_columns(columns.modes, header.names)) {
    int* role = &form.roles[find_column(header, mode.column, "columns.modes", file)];
    while (*role != CsvForm::unused) role = &form.same_column[static_cast<std::size_t>(*role)];
    *role = static_cast<int>(form.readings.size());
    form.mode_names.push_back(mode.name);
    form.readings.push_back(make_reading(mode.reading, columns));
  }
  if (columns.value.empty()) return form;
  int& role = form.roles[find_column(header, columns.value, "columns.value", file)];
  if (role != CsvForm::unused) {
    refuse(option_name("columns.modes") + " and " + option_name("columns.value") + " both name the column " +
           quoted_for_message(columns.value) + "; name it in one of them");
  }
  role = CsvForm::value;
  return form;
}

std::string list_columns(const std::vector<std::string>& names) {
  constexpr std::size_t max_listed = 30;
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), max_listed); ++i) {
    const std::string name = quoted_for_message(names[i]);
    list += (list.empty() ? "" : ", ") + name.substr(1, name.size() - 2);
  }
  if (names.size() > max_listed) list += ", and " + std::to_string(names.size() - max_listed) + " more";
  return list;
}

}  // namespace blco
