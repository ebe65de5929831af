// Compares first bytes.
#include "io/text/foreign_format.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "blco/option_name.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t max_text_bytes = 64;

std::string by_pandas(const std::string& reader) {
  return "python3 -c \"import pandas; pandas." + reader + "('FILE').to_csv('FILE.csv', index=False)\"";
}

struct ForeignFormat {
  std::string_view first_bytes;
  const char* name;
  std::string command;  // makes a table of FILE, or unpacks it
};

const std::array foreign_formats = {
    ForeignFormat{"PAR1"sv, "Parquet", by_pandas("read_parquet")},
    ForeignFormat{"ARROW1"sv, "Arrow or Feather", by_pandas("read_feather")},
    ForeignFormat{"FEA1"sv, "Feather", by_pandas("read_feather")},
    ForeignFormat{"ORC"sv, "ORC", by_pandas("read_orc")},
    ForeignFormat{"Obj\x01"sv, "Avro",
                  "python3 -c \"import fastavro, pandas; pandas.DataFrame(fastavro.reader(open('FILE', 'rb')))"
                  ".to_csv('FILE.csv', index=False)\""},
    ForeignFormat{"SQLite format 3\0"sv, "an SQLite database",
                  "sqlite3 -header -csv FILE 'SELECT * FROM the_table' >FILE.csv"},
    ForeignFormat{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, "an old Excel file", by_pandas("read_excel")},
};

// Text may be inside.
const std::array packed_formats = {
    ForeignFormat{"\xfd"
                  "7zXZ\0"sv,
                  "xz", "xzcat FILE"},
    ForeignFormat{"\x5d\0\0"sv, "LZMA", "xzcat --format=lzma FILE"},
    ForeignFormat{"LZIP\x01"sv, "lzip", "lzip -dc FILE"},
    ForeignFormat{"\x89LZO\0"sv, "lzop", "lzop -dc FILE"},
    ForeignFormat{"\x04\x22\x4d\x18"sv, "LZ4", "lz4cat FILE"},
    ForeignFormat{"\x02\x21\x4c\x18"sv, "LZ4", "lz4cat FILE"},
    ForeignFormat{"\xff\x06\0\0sNaPpY"sv, "Snappy", "python3 -m snappy -d FILE"},
    ForeignFormat{"\x1f\x9d"sv, "compress (.Z)", "zcat FILE"},
    ForeignFormat{"\x1f\x8b"sv, "gzip more than once", "zcat FILE"},
    ForeignFormat{"\x28\xb5\x2f\xfd"sv, "zstd within another compression", "zstdcat FILE"},
    ForeignFormat{"7z\xbc\xaf\x27\x1c"sv, "7-Zip", "7z x -so FILE"},
    ForeignFormat{"Rar!\x1a\x07"sv, "RAR", "unrar p -inul FILE"},
};

constexpr const char* zlib_command =
    "python3 -c \"import sys, zlib; sys.stdout.buffer.write(zlib.decompress(open('FILE', 'rb').read()))\"";

std::string explain_packed(const std::string& what, const std::string& command) {
  return "this is " + what + ", which is not read; unpack it into a pipe (" + command + " | blco-ingest - ...)";
}

bool is_odd_control(char c) { return (c >= 0 && c < ' ' && c != '\t' && c != '\r' && c != '\n') || c == '\x7f'; }

// "BZh", the size of its blocks, and the first digits of pi.
bool is_bzip2(std::string_view head) {
  return head.starts_with("BZh") &&
         (head.substr(4).starts_with("1AY&SY") || head.substr(4).starts_with("\x17rE8P\x90"));
}

// RFC 1950: deflate with a window of 32 KiB, and the level, of which one looks like text ("x^").
bool is_zlib(std::string_view head) {
  if (head.starts_with("x^")) return std::ranges::any_of(head.substr(0, max_text_bytes), is_odd_control);
  return head.starts_with("x\x01") || head.starts_with("x\x9c") || head.starts_with("x\xda");
}

bool is_tar(std::string_view head) {
  constexpr std::size_t magic_at = 257;
  // The archive's first name ends in NUL.
  return head.size() > magic_at && head.substr(magic_at).starts_with("ustar") &&
         head.substr(0, magic_at).find('\0') != head.npos;
}

// The names in a zip archive's directory, as far as it lies in `ends`.
std::vector<std::string_view> names_in_zip(std::string_view ends) {
  constexpr std::size_t name_at = 46;
  const auto byte = [&](std::size_t at) { return static_cast<std::size_t>(static_cast<unsigned char>(ends[at])); };
  std::vector<std::string_view> names;
  for (std::size_t at = ends.find("PK\x01\x02"); at != std::string_view::npos && at + name_at < ends.size();
       at = ends.find("PK\x01\x02", at + 4)) {
    names.push_back(ends.substr(at + name_at, byte(at + 28) + 256 * byte(at + 29)));
  }
  return names;
}

// Of a zip archive that is no NumPy archive, which has names that end in .npy.
std::optional<std::string> explain_zip(std::string_view ends) {
  const std::vector<std::string_view> names = names_in_zip(ends);
  const auto is_array = [](std::string_view name) { return name.ends_with(".npy"); };
  if (names.empty() || std::ranges::any_of(names, is_array)) return std::nullopt;
  const std::string name = quoted_for_message(names.front());
  // The directory of a small file lies in both of its ends.
  const bool has_others = std::ranges::any_of(names, [&](std::string_view other) { return other != names.front(); });
  return explain_packed("a zip archive of " + name + (has_others ? " and others" : ""),
                        has_others ? "unzip -p FILE " + name : "unzip -p FILE");
}

std::string explain_table(const char* name, const std::string& command) {
  return std::string("this is ") + name + ", which is not read; make CSV of it (for example: " + command +
         ") and name its columns with " + option_name("columns.modes");
}

// Without control characters, up to the end of the first line.
bool is_text(std::string_view head) {
  head = head.substr(0, head.find_first_of("\r\n"));
  return std::ranges::none_of(head, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; });
}

// Objects, or a list of objects or lists. A name of a column would begin so in a very odd table alone.
bool is_json(std::string_view head) {
  if (head.empty() || (head[0] != '{' && head[0] != '[')) return false;
  const std::size_t next = head.find_first_not_of(" \t\r\n", 1);
  return next == std::string_view::npos ||
         (head[0] == '{' ? "\"}"sv : "{[\"]"sv).find(head[next]) != std::string_view::npos;
}

}  // namespace

std::optional<std::string> explain_foreign_format(std::string_view head) {
  for (const ForeignFormat& format : foreign_formats) {
    // A column may be called ORCID; in a file of these formats bytes that are no text follow.
    if (head.starts_with(format.first_bytes) && !is_text(head.substr(0, max_text_bytes))) {
      return explain_table(format.name, format.command);
    }
  }
  for (const ForeignFormat& format : packed_formats) {
    if (head.starts_with(format.first_bytes)) {
      return explain_packed(std::string("compressed with ") + format.name, format.command);
    }
  }
  if (is_bzip2(head)) return explain_packed("compressed with bzip2", "bzcat FILE");
  if (is_zlib(head)) return explain_packed("compressed with zlib", zlib_command);
  if (is_tar(head)) return explain_packed("a tar archive", "tar -xOf FILE");
  if (head.starts_with("MATLAB 5.0 MAT-file")) {
    return "this is a MATLAB file of an older version, which is not read; save it with -v7.3";
  }
  if (head.starts_with("\x93NUMPY")) {
    return "this is a single NumPy array; save the coordinates and values as numpy.savez('FILE.npz', coords=..., "
           "values=...), with coords of shape (modes, values)";
  }
  if (head.starts_with("PK\x03\x04") && head.find("[Content_Types].xml") != std::string_view::npos) {
    return explain_table("an Excel file", by_pandas("read_excel"));
  }
  if (head.starts_with("PK\x03\x04")) {
    if (auto zip = explain_zip(head)) return zip;
  }
  if (is_json(head)) {
    return explain_table("JSON", head[0] == '{'
                                     ? "(echo user,item; jq -r '[.user, .item] | @csv' FILE) >FILE.csv"
                                     : "(echo user,item; jq -r '.[] | [.user, .item] | @csv' FILE) >FILE.csv");
  }
  if (head.starts_with("\x89HDF")) return "this is an HDF5 file, not text; if it is a container, use it as it is";
  return std::nullopt;
}

}  // namespace blco
