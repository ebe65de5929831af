// Finds where rows of delimited text end; line breaks within quoted fields end none.
#pragma once

#include <cstddef>
#include <string_view>

namespace blco {

// Scans a text that grows at its end. A quote opens a field only where the field starts: at the start of the text,
// after a separator or after a line end. Within the field, two quotes are one, and a single one closes it. Any other
// quote is an ordinary character. Text without quotes costs a search for a quote, and for the last line end.
class RowScan {
 public:
  explicit RowScan(char separator) : separator_(separator) {}

  // `text` starts with a row, and with what it was in the last call. Returns the position after its last row that has
  // an end; 0 if there is none.
  std::size_t find_end(std::string_view text);

 private:
  char separator_;
  bool is_open_ = false;
  std::size_t at_ = 0;   // scanned so far
  std::size_t end_ = 0;  // of the last row
};

}  // namespace blco
