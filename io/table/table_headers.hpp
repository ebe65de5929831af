// The headers of all files of a table: their columns, and one reading of each mode's fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "io/table/csv_header.hpp"
#include "io/text/text_preamble.hpp"

namespace blco {

// The cutter of text asks for the headers in the order of the files.
class TableHeaders {
 public:
  TableHeaders(std::vector<std::filesystem::path> files, CsvColumns columns, const CsvDialect& dialect,
               MissingFields missing, bool keeps_places);

  // A HeaderFinder. Throws as find_csv_header and make_csv_form do.
  std::optional<TextPreamble> find(std::string_view text, bool is_whole, std::size_t file, std::uint64_t lines_before);

  // Of a file whose header has been found; the reference stays valid.
  const CsvForm& form(std::size_t file) const { return forms_[file]; }
  bool empty() const { return forms_.empty(); }

  // Of the fields of each mode, in all files.
  void set_readings(std::vector<ComputedForm> readings);

 private:
  CsvForm make_form(const CsvHeader& header, std::size_t file) const;
  void take_readings(CsvForm& form, std::size_t file) const;
  std::optional<std::pair<CsvHeader, CsvForm>> find_other(std::string_view text, bool is_whole, std::size_t file,
                                                          std::uint64_t lines_before) const;

  std::vector<std::filesystem::path> files_;
  CsvColumns columns_;
  CsvDialect dialect_;
  MissingFields missing_;
  bool keeps_places_;
  std::deque<CsvForm> forms_;
  std::vector<ComputedForm> readings_;  // empty: as each header gives them
};

}  // namespace blco
