// Finds the header of each file of a table; where a separator was guessed, tries others too.
#include "io/table/table_headers.hpp"

#include <string>
#include <tuple>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {

namespace fs = std::filesystem;

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
  CsvHeader header = *found;
  CsvForm form;
  try {
    form = make_form(header, file);
  } catch (const Error&) {
    // Names may contain separators, so that another one than the most frequent may be meant.
    auto other = dialect_.separator == 0 ? find_other(text, is_whole, file, lines_before) : std::nullopt;
    if (!other) throw;
    std::tie(header, form) = std::move(*other);
  }
  form.keeps_places = keeps_places_;
  if (!readings_.empty()) take_readings(form, file);
  forms_.push_back(std::move(form));
  return TextPreamble{.format = "CSV", .bytes = header.bytes, .lines = header.lines, .separator = header.separator};
}

void TableHeaders::set_readings(std::vector<ComputedForm> readings) {
  readings_ = std::move(readings);
  for (CsvForm& form : forms_) form.readings = readings_;
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
      const CsvDialect dialect{separator, dialect_.decimal};
      const auto header = find_csv_header(text, is_whole, dialect, files_[file], lines_before);
      if (header) return std::pair(*header, make_form(*header, file));
    } catch (const Error&) {
    }
  }
  return std::nullopt;
}

}  // namespace blco
