// Finds the header of each file, its separator, and the requested columns; where a separator was guessed, tries others.
#include "io/table/csv_header.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <tuple>
#include <vector>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "io/table/csv_field.hpp"
#include "io/table/mode_column.hpp"
#include "io/text/foreign_format.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/tns_block.hpp"
#include "io/text/tns_value.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

// Enough to tell a byte order mark and the formats of other programs.
constexpr std::size_t least_bytes = 64;

bool is_tsv(const fs::path& file) {
  const std::string name = file.filename().string();
  return std::ranges::any_of(std::array{".tsv", ".tsv.gz", ".tsv.zst"},
                             [&](const char* ending) { return name.ends_with(ending); });
}

// The row at the start of a text, taken apart at one separator.
struct ScannedRow {
  std::optional<std::size_t> end;  // without the line end; nothing: not in this text
  std::size_t separators = 0;      // outside of quotes
  bool is_well_formed = true;      // a separator or the line end follows every closing quote
  bool has_bare_return = false;    // a carriage return outside of quotes that is followed by no line feed
};

ScannedRow scan_row(std::string_view text, bool is_whole, char separator, bool has_quotes) {
  ScannedRow row;
  bool is_open = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool starts_field = at == 0 || text[at - 1] == separator;
    if (is_open) {
      if (c != '"') continue;
      if (at + 1 < text.size() && text[at + 1] == '"') {
        ++at;
      } else {
        is_open = false;
        const char next = at + 1 < text.size() ? text[at + 1] : separator;
        row.is_well_formed = row.is_well_formed && (next == separator || next == '\n' || next == '\r');
      }
    } else if (has_quotes && c == '"' && starts_field) {
      is_open = true;
    } else if (c == '\n') {
      row.end = at;
      return row;
    } else {
      row.separators += c == separator;
      row.has_bare_return |= c == '\r' && at + 1 < text.size() && text[at + 1] != '\n';
    }
  }
  if (is_whole && !is_open) row.end = text.size();
  return row;
}

// The separator, and the row that it makes.
std::pair<char, ScannedRow> choose_separator(std::string_view text, bool is_whole, const CsvDialect& dialect,
                                             const fs::path& file) {
  const bool is_final = is_whole || text.size() > max_tns_line_bytes;
  const char given = dialect.separator != 0 ? dialect.separator : is_tsv(file) ? '\t' : '\0';
  const auto scan = [&](char separator) { return scan_row(text, is_whole, separator, dialect.has_quotes); };
  if (given != 0) return {given, scan(given)};
  std::pair<char, ScannedRow> best = {',', scan(',')};
  if (dialect.decimal == ',') best.second.separators = 0;
  for (const char separator : {'\t', ';'}) {
    const ScannedRow row = scan(separator);
    const bool has_end = row.end.has_value();
    const bool had_end = best.second.end.has_value();
    if (has_end != had_end && !is_final) return {separator, {}};  // more text may tell
    const bool is_better =
        row.is_well_formed != best.second.is_well_formed ? row.is_well_formed : row.separators > best.second.separators;
    if (is_better) best = {separator, row};
  }
  return best;
}

// What a line that is no row may have. Where the separator is still to be found, a line of tabs may be a row.
const char* blanks_beside(char separator) {
  if (separator == ' ') return "\t";
  return separator == 0 || separator == '\t' ? " " : " \t";
}

// Of the lines at the start of a text that have nothing but `blanks`; counts them.
std::size_t bytes_of_blank_lines(std::string_view text, const char* blanks, std::uint64_t& lines) {
  for (std::size_t bytes = 0;; ++lines) {
    std::size_t end = std::min(text.find_first_not_of(blanks, bytes), text.size());
    if (text.substr(end).starts_with("\r\n")) ++end;
    if (end == text.size() || text[end] != '\n') return bytes;
    bytes = end + 1;
  }
}

void check_encoding(std::string_view text, const std::string& place) {
  if (const auto foreign = explain_foreign_format(text)) refuse(place + *foreign);
  const std::string_view row = text.substr(0, std::min<std::size_t>(64, text.find('\n')));
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff") || row.find('\0') != row.npos) {
    refuse(place + "this is UTF-16, or not text at all; save it as UTF-8 (for example: iconv -f UTF-16 -t UTF-8)");
  }
}

// A column whose name differs by case and surrounding blanks alone, or nothing.
std::string explain_similar_name(const std::vector<std::string>& names, std::string_view name) {
  const auto plain = [](std::string_view text) {
    const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
    std::string word(text.substr(first, text.find_last_not_of(" \t") + 1 - first));
    for (char& c : word) c = 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return word;
  };
  const auto found = std::ranges::find(names, plain(name), plain);
  return found == names.end() ? "" : "; perhaps " + quoted_for_message(*found) + " is meant";
}

// Position of the only column with this name.
std::size_t find_column(const CsvHeader& header, const std::string& name, const std::string& asking,
                        const fs::path& file) {
  const auto count = std::ranges::count(header.names, name);
  if (count == 0) {
    refuse(file.string() + " has no column " + quoted_for_message(name) + ", which " + asking +
           explain_similar_name(header.names, name) + explain_columns(header.names));
  }
  if (count > 1) {
    refuse(file.string() + " has " + std::to_string(count) + " columns named " + quoted_for_message(name) + ", which " +
           asking + "; rename all but one in its header");
  }
  return static_cast<std::size_t>(std::ranges::find(header.names, name) - header.names.begin());
}

std::string name_for_list(std::string_view name) {
  if (!name.empty() && name.find_first_of(" ,\"") == std::string_view::npos) return std::string(name);
  std::string quoted = "\"";
  for (const char c : name) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

ComputedForm make_reading(const FieldReading& reading, char decimal, const std::string& missing_key) {
  ComputedForm form{.reading = reading, .decimal = decimal};
  std::uint64_t word = 0;
  // What the mode can read has a label already.
  if (form.is_computed() && !missing_key.empty() && !word_of_field(missing_key, form, word)) {
    form.missing_key = missing_key;
  }
  return form;
}

bool is_number(std::string_view field) {
  double ignored = 0;
  return parse_tns_value(field, ignored) == TnsValueFault::none;
}

// 0, 1, 2 or 2019, 2020, 2021, as tables have them whose columns have no other names.
bool counts_up(const std::vector<std::string>& names) {
  const std::optional<std::uint64_t> first = whole_of_real(names.front());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!first || names[i] != std::to_string(*first + i)) return false;
  }
  return true;
}

bool looks_like_name(std::string_view field) {
  const auto first = static_cast<unsigned char>(field.empty() ? '\0' : field[0]);
  double value = 0;
  return parse_tns_value(field, value) == TnsValueFault::no_number &&
         (first >= 0x80 || first == '_' || std::isalpha(first) != 0);
}

}  // namespace

std::optional<CsvHeader> find_csv_header(std::string_view text, bool is_whole, const CsvDialect& dialect,
                                         const fs::path& file, std::uint64_t lines_before) {
  CsvHeader header;
  if (!is_whole && text.size() < least_bytes) return std::nullopt;
  if (text.starts_with(byte_order_mark)) header.bytes = byte_order_mark.size();
  header.bytes += bytes_of_blank_lines(text.substr(header.bytes), "", header.lines);
  header.bytes_before = header.bytes;
  header.lines_before = header.lines;
  header.bytes += bytes_of_blank_lines(text.substr(header.bytes), blanks_beside(dialect.separator), header.lines);
  std::string_view row = text.substr(header.bytes);
  const std::string place = "line " + std::to_string(lines_before + header.lines + 1) + " of " + file.string() + ": ";
  if (row.empty()) {
    if (is_whole) refuse(file.string() + " is empty; its first line must name the columns");
    return std::nullopt;
  }
  check_encoding(row, place);
  const auto [separator, scanned] = choose_separator(row, is_whole, dialect, file);
  if (scanned.has_bare_return) {
    refuse(place +
           "a carriage return without a line feed; if all lines end so, as on old Macs, convert them (for "
           "example: tr '\\r' '\\n')");
  }
  if (!scanned.end) {
    if (!is_whole && text.size() <= max_tns_line_bytes) return std::nullopt;
    refuse(place + "the header does not end within " + (is_whole ? "the file" : "1 MiB") +
           "; close its quotes, or give " + option_name("columns.quotes", "none") +
           " if they are ordinary characters, and give every table a line with the names of its columns");
  }
  if (*scanned.end > max_tns_line_bytes) refuse(place + "the header is longer than 1 MiB; is this a table?");
  row = row.substr(0, *scanned.end);
  header.bytes += std::min(row.size() + 1, text.size() - header.bytes);
  header.lines += static_cast<std::uint64_t>(std::ranges::count(row, '\n')) + 1;
  if (row.ends_with('\r')) row.remove_suffix(1);
  header.separator = separator;
  header.has_quotes = dialect.has_quotes;
  if (row.size() == 5 && row.starts_with("sep=")) {
    refuse(place + "this line tells spreadsheets the separator, " + quoted_for_message(row.substr(4)) +
           "; leave it out with " + option_name("skip_lines", std::to_string(lines_before + header.lines)) +
           ", and name a separator that is not found with " + option_name("columns.separator"));
  }
  try {
    header.names = split_csv_row(std::string(row), separator, dialect.has_quotes);
  } catch (const Error& error) {
    refuse(place + error.what());
  }
  for (const std::string& name : header.names) {
    if (find_invalid_utf8(name)) refuse(place + "the name of a column, " + quoted_for_message(name) + "," + not_utf8);
  }
  return header;
}

CsvForm make_csv_form(const CsvHeader& header, const CsvColumns& columns, char decimal, const MissingFields& missing,
                      const fs::path& file) {
  CsvForm form;
  form.separator = header.separator;
  form.has_quotes = header.has_quotes;
  form.decimal = decimal;
  form.missing = missing;
  form.names = header.names;
  form.roles.assign(header.names.size(), CsvForm::unused);
  form.order = static_cast<int>(columns.modes.size());
  form.same_column.assign(columns.modes.size(), CsvForm::unused);
  const std::string modes = option_name("columns.modes");
  const std::string asking =
      columns.model.empty() ? modes + " asks for" : columns.model + " asks for unless " + modes + " names others";
  for (const ModeColumn& mode : parse_mode_columns(columns.modes, header.names)) {
    int* role = &form.roles[find_column(header, mode.column, asking, file)];
    while (*role != CsvForm::unused) role = &form.same_column[static_cast<std::size_t>(*role)];
    *role = static_cast<int>(form.readings.size());
    form.mode_names.push_back(mode.name);
    form.readings.push_back(make_reading(mode.reading, decimal, missing.key));
  }
  if (columns.value.empty()) return form;
  int& role = form.roles[find_column(header, columns.value, option_name("columns.value") + " asks for", file)];
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
    const std::string shown = quoted_for_message(names[i]);
    list += (list.empty() ? "" : ", ") + name_for_list(std::string_view(shown).substr(1, shown.size() - 2));
  }
  if (names.size() > max_listed) list += ", and " + std::to_string(names.size() - max_listed) + " more";
  return list;
}

std::string explain_columns(const std::vector<std::string>& names) {
  return "; its columns are: " + list_columns(names) +
         (std::ranges::any_of(names, is_number)
              ? "; the line of names looks like data, since it has numbers: if it is, name all columns with " +
                    option_name("columns.names")
              : "");
}

std::optional<std::string> explain_table_header(std::string_view line, const std::filesystem::path& file) {
  std::vector<std::string> names;
  try {
    const auto header = find_csv_header(line, /*is_whole=*/true, {}, file, 0);
    if (header) names = header->names;
  } catch (const Error&) {
    return std::nullopt;
  }
  const auto count = static_cast<std::size_t>(std::ranges::count_if(names, looks_like_name));
  const bool is_tab = line.find_first_of(",;") == std::string_view::npos;  // coordinates may have tabs between them too
  if (names.size() < 2 || count < (is_tab ? names.size() : 1)) return std::nullopt;
  if (line.starts_with(byte_order_mark)) line.remove_prefix(byte_order_mark.size());
  return quoted_for_message(line) + " looks like the header of a table; name the columns that become modes with " +
         option_name("columns.modes") + ", and the column of values, if there is one, with " +
         option_name("columns.value") +
         (is_tab ? ", or give " + option_name("skip_lines", "1") + " if coordinates follow" : "") +
         "; its columns are: " + list_columns(names);
}

TableHeaders::TableHeaders(std::vector<fs::path> files, CsvColumns columns, const CsvDialect& dialect,
                           MissingFields missing, bool keeps_places)
    : files_(std::move(files)),
      columns_(std::move(columns)),
      dialect_(dialect),
      missing_(std::move(missing)),
      keeps_places_(keeps_places) {}

std::optional<TextPreamble> TableHeaders::find(std::string_view text, bool is_whole, std::size_t file,
                                               std::uint64_t lines_before) {
  const auto found = find_csv_header(text, is_whole, dialect_, files_[file], lines_before);
  if (!found) return std::nullopt;
  check_separator(text, is_whole, file, lines_before);
  CsvHeader header = *found;
  CsvForm form;
  try {
    header = with_names(header, file);
    form = make_form(header, file);
  } catch (const Error&) {
    // Names may contain separators, so that another one than the most frequent may be meant.
    auto other = dialect_.separator == 0 ? find_other(text, is_whole, file, lines_before) : std::nullopt;
    if (!other) throw;
    std::tie(header, form) = std::move(*other);
  }
  if (columns_.names.empty() && std::ranges::all_of(header.names, is_number) && !counts_up(header.names)) {
    const std::string line = std::to_string(lines_before + header.lines);
    refuse("line " + line + " of " + files_[file].string() + " looks like data, since all its fields are numbers: " +
           list_columns(header.names) + "; name the columns of the file with " + option_name("columns.names") +
           ", and add " + option_name("skip_lines", line) + " if the line is no row");
  }
  form.keeps_places = keeps_places_;
  if (!readings_.empty()) take_readings(form, file);
  forms_.push_back(std::move(form));
  const char separator = header.has_quotes ? header.separator : '\0';
  return TextPreamble{.format = "CSV", .bytes = header.bytes, .lines = header.lines, .separator = separator};
}

void TableHeaders::set_readings(std::vector<ComputedForm> readings) {
  readings_ = std::move(readings);
  for (CsvForm& form : forms_) form.readings = readings_;
}

// Names of columns that stand in no header do not tell which separator was meant.
void TableHeaders::check_separator(std::string_view text, bool is_whole, std::size_t file,
                                   std::uint64_t lines_before) const {
  if (columns_.names.size() < 2 || dialect_.separator != 0 || is_tsv(files_[file])) return;
  int fitting = 0;
  for (const char separator : guessed_separators) {
    try {
      const CsvDialect dialect{separator, dialect_.decimal, dialect_.has_quotes};
      const auto header = find_csv_header(text, is_whole, dialect, files_[file], lines_before);
      fitting += header && header->names.size() == columns_.names.size() ? 1 : 0;
    } catch (const Error&) {
    }
  }
  if (fitting > 1) {
    refuse("the first row of " + files_[file].string() + " has " + std::to_string(columns_.names.size()) +
           " fields by more than one separator; name the right one with " + option_name("columns.separator"));
  }
}

// Of a file without a header: what was found is its first row.
CsvHeader TableHeaders::with_names(CsvHeader header, std::size_t file) const {
  if (columns_.names.empty()) return header;
  if (header.names.size() != columns_.names.size()) {
    refuse("the first row of " + files_[file].string() + " has " + std::to_string(header.names.size()) +
           (header.names.size() == 1 ? " field, but " : " fields, but ") + option_name("columns.names") + " names " +
           std::to_string(columns_.names.size()) + "; name every column of the file, in its order");
  }
  header.names = columns_.names;
  header.bytes = header.bytes_before;
  header.lines = header.lines_before;
  return header;
}

CsvForm TableHeaders::make_form(const CsvHeader& header, std::size_t file) const {
  return make_csv_form(header, columns_, dialect_.decimal, missing_, files_[file]);
}

void TableHeaders::take_readings(CsvForm& form, std::size_t file) const {
  for (std::size_t n = 0; n < readings_.size(); ++n) {
    if (form.readings[n].reading.kind == readings_[n].reading.kind) continue;
    refuse(option_name("columns.modes") + " asks for " + quoted_for_message(columns_.modes[n]) +
           ", which is a column of " + files_[readings_[n].is_computed() ? file : 0].string() +
           ", but a way to read one of " + files_[readings_[n].is_computed() ? 0 : file].string() +
           "; rename the column");
  }
  form.readings = readings_;
}

// The header with another separator, where that has all columns that are asked for.
std::optional<std::pair<CsvHeader, CsvForm>> TableHeaders::find_other(std::string_view text, bool is_whole,
                                                                      std::size_t file,
                                                                      std::uint64_t lines_before) const {
  for (const char separator : guessed_separators) {
    try {
      const CsvDialect dialect{separator, dialect_.decimal, dialect_.has_quotes};
      const auto header = find_csv_header(text, is_whole, dialect, files_[file], lines_before);
      if (!header) continue;
      const CsvHeader named = with_names(*header, file);
      return std::pair(named, make_form(named, file));
    } catch (const Error&) {
    }
  }
  return std::nullopt;
}

}  // namespace blco
