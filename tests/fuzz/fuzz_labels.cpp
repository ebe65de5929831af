// Fuzzes the reader of label files: what it accepts of plain text is its lines, and labels that occur twice are
// counted.
#include <map>
#include <vector>

#include "io/table/label_file.hpp"
#include "tests/fuzz/fuzz_input.hpp"

namespace {

using namespace blco;

// The lines of a plain text, as a reader that looks at one character after the other would have them.
std::vector<std::string> lines_of(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::vector<std::string> lines(1);
  for (const char c : text) {
    if (c == '\n') {
      lines.emplace_back();
    } else {
      lines.back() += c;
    }
  }
  if (lines.back().empty()) lines.pop_back();
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();
  }
  return lines;
}

void check_labels(const Labels& labels, const std::vector<std::string>& lines) {
  fuzz::require(labels.size() == lines.size());
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    fuzz::require(labels[i] == lines[i] && !lines[i].empty());
    ++counts[lines[i]];
  }
  std::uint64_t repeated = 0;
  for (const auto& [label, count] : counts) repeated += count > 1 ? 1 : 0;
  fuzz::require(count_repeated_labels(labels) == repeated);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::FuzzInput input(data, size);
  const std::uint64_t max_bytes = input.flag() ? 64 : std::uint64_t{1} << 20;
  const std::string_view text = input.rest();
  const fuzz::MemoryFile file(text);
  const std::string_view magic = text.substr(std::min<std::size_t>(1, text.size()), 3);
  const bool is_zstd = magic == "\xb5\x2f\xfd" || magic == "\x2a\x4d\x18";
  const bool is_compressed = text.starts_with("\x1f\x8b") || is_zstd;
  try {
    const LabelFile read = read_label_file(file.path(), max_bytes);
    fuzz::require(read.labels.empty() == (read.memory_bytes > max_bytes));
    if (read.labels.empty()) return 0;
    fuzz::require(read.labels.memory_bytes() == read.memory_bytes);
    if (!is_compressed) check_labels(read.labels, lines_of(text));
  } catch (const Error& error) {
    const ErrorKind kind = error.kind();
    fuzz::require(kind == ErrorKind::invalid_argument || kind == ErrorKind::corrupt);
  }
  return 0;
}
