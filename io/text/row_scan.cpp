// Jumps from quote to quote.
#include "io/text/row_scan.hpp"

#include <cstring>

namespace blco {
namespace {

const char* find_byte(const char* at, const char* end, char wanted) {
  return static_cast<const char*>(std::memchr(at, wanted, static_cast<std::size_t>(end - at)));
}

const char* find_last_byte(const char* at, const char* end, char wanted) {
  return static_cast<const char*>(::memrchr(at, wanted, static_cast<std::size_t>(end - at)));
}

}  // namespace

std::size_t RowScan::find_end(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* at = begin + at_;
  const auto open = [&](const char* quote) {
    is_open_ = true;
    at = quote + 1;
  };
  while (at != end) {
    if (is_open_) {
      const char* const quote = find_byte(at, end, '"');
      at = quote == nullptr ? end : quote;
      if (quote == nullptr || quote + 1 == end) break;  // the next byte tells whether a last quote closes the field
      at = quote + (quote[1] == '"' ? 2 : 1);
      if (quote[1] == '"') continue;
      is_open_ = false;
      // Most often a quoted field or the end of the row comes next.
      if (*at == '\n') end_ = static_cast<std::size_t>(at - begin) + 1;
      if ((*at == separator_ || *at == '\n') && at + 1 != end && at[1] == '"') {
        open(at + 1);
        continue;
      }
    }
    const char* const quote = find_byte(at, end, '"');
    const char* const newline = find_last_byte(at, quote == nullptr ? end : quote, '\n');
    if (newline != nullptr) end_ = static_cast<std::size_t>(newline - begin) + 1;
    at = quote == nullptr ? end : quote + 1;
    if (quote == nullptr) break;
    if (quote == begin || quote[-1] == separator_ || quote[-1] == '\n') open(quote);
  }
  at_ = static_cast<std::size_t>(at - begin);
  return end_;
}

}  // namespace blco
