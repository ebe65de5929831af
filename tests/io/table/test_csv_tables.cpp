// Random tables of quotes, line breaks and missing fields, cut into blocks of all sizes: as a parser reads them that
// looks at the text as a whole, one character after another.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>

#include "io/table/csv_reader.hpp"
#include "io/text/block_reader.hpp"
#include "tests/temporary_folder.hpp"
#include "tests/thread_executor.hpp"

namespace blco {
namespace {

using Fields = std::vector<std::string>;

// The rows of a well-formed text, blank lines left out.
std::vector<Fields> split_plainly(const std::string& text, char separator) {
  std::vector<Fields> rows;
  Fields row;
  std::string field;
  bool is_quoted = false;
  bool is_blank = true;
  const auto end_row = [&] {
    if (!is_blank) {
      row.push_back(field);
      rows.push_back(row);
    }
    row.clear();
    field.clear();
    is_blank = true;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool starts = at == 0 || text[at - 1] == separator || text[at - 1] == '\n';
    if (is_quoted) {
      if (c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
        field += text[++at];
      } else if (c == '"') {
        is_quoted = false;
      } else {
        field += c;
      }
    } else if (c == '"' && starts) {
      is_quoted = true;
      is_blank = false;
    } else if (c == '\n') {
      end_row();
    } else if (c == separator) {
      row.push_back(field);
      field.clear();
      is_blank = false;
    } else if (c != '\r') {  // these tables have others in quotes alone
      field += c;
      is_blank = false;
    }
  }
  end_row();
  return rows;
}

struct TableEntries {
  std::vector<std::vector<std::uint64_t>> rows;
  std::vector<double> values;
  std::vector<Fields> labels;
  std::map<std::string, std::uint64_t> skipped;

  bool operator==(const TableEntries&) const = default;
};

const Fields missing_fields = {"", "NA", "null", "None", "1.#IND", "-nan"};

bool is_one_of_missing(const std::string& field) {
  return std::ranges::find(missing_fields, field) != missing_fields.end();
}

// Columns a and b are modes, v is the value. `policy` is "skip" or a key.
TableEntries expected_entries(const std::vector<Fields>& rows, const std::string& policy) {
  TableEntries entries;
  entries.labels.resize(2);
  const auto column = [&](const char* name) {
    return static_cast<std::size_t>(std::ranges::find(rows[0], name) - rows[0].begin());
  };
  std::array<std::pair<std::size_t, std::string>, 3> asked = {
      {{column("a"), "a"}, {column("b"), "b"}, {column("v"), "v"}}};
  std::array<std::pair<std::size_t, std::string>, 3> in_file = asked;
  std::ranges::sort(in_file);
  for (std::size_t r = 1; r < rows.size(); ++r) {
    const auto lacking = std::ranges::find_if(in_file, [&](const auto& one) {
      return is_one_of_missing(rows[r][one.first]) && (one.second == "v" || policy == "skip");
    });
    if (lacking != in_file.end()) {
      ++entries.skipped[lacking->second];
      continue;
    }
    std::vector<std::uint64_t>& row = entries.rows.emplace_back();
    for (std::size_t mode = 0; mode < 2; ++mode) {
      const std::string& field = rows[r][asked[mode].first];
      const std::string key = is_one_of_missing(field) ? policy : field;
      Fields& labels = entries.labels[mode];
      const auto found = std::ranges::find(labels, key);
      row.push_back(static_cast<std::uint64_t>(found - labels.begin()));
      if (found == labels.end()) labels.push_back(key);
    }
    entries.values.push_back(std::stod(rows[r][asked[2].first]));
  }
  return entries;
}

TableEntries read_entries_of(const std::filesystem::path& file, const TableOptions& options, int threads) {
  ThreadExecutor executor(threads);
  const auto reader = open_csv({file}, options, executor);
  TableEntries entries;
  CoordinateBatch batch;
  while (reader->next(batch)) {
    for (std::size_t i = 0; i < batch.count(); ++i) {
      entries.rows.push_back({batch.coordinate(i, 0), batch.coordinate(i, 1)});
      entries.values.push_back(batch.values[i]);
    }
  }
  for (const SkippedRows& skipped : reader->skipped_rows()) entries.skipped[skipped.column] = skipped.rows;
  for (const Labels& labels : reader->take_labels()) {
    Fields& list = entries.labels.emplace_back();
    for (std::uint64_t i = 0; i < labels.size(); ++i) list.emplace_back(labels[i]);
  }
  return entries;
}

class RandomTable {
 public:
  RandomTable(std::uint64_t seed, char separator) : random_(seed), separator_(separator) {}

  std::string text(int rows) {
    std::vector<std::string> names = {"a", "b", "v", "a note\n\"of\" two lines", "n"};
    std::ranges::shuffle(names, random_);
    std::string text;
    for (int r = -1; r < rows; ++r) {
      for (std::size_t column = 0; column < names.size(); ++column) {
        if (column > 0) text += separator_;
        text += r < 0 ? written(names[column]) : written(names[column] == "v" ? value() : key());
      }
      text += draw(4) == 0 ? "\r\n" : "\n";
      if (draw(20) == 0) text += draw(2) == 0 ? "\r\n" : "\n";
    }
    if (draw(3) == 0) text.pop_back();
    return text.ends_with('\r') ? text + '\n' : text;
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }

  std::string key() {
    if (draw(12) == 0) return missing_fields[draw(missing_fields.size())];
    std::string key;
    for (std::uint64_t left = 1 + draw(6); left > 0; --left) key += "ab7 \"\n,;\t\r"[draw(10)];
    return key;
  }
  std::string value() {
    if (draw(12) == 0) return missing_fields[draw(missing_fields.size())];
    return std::to_string(static_cast<int>(draw(100))) + (draw(2) == 0 ? ".5" : "");
  }

  // Quoted where it must be, and sometimes where it need not be.
  std::string written(const std::string& field) {
    const bool must = field.starts_with('"') || field.find_first_of(std::string("\n\r") + separator_) != field.npos;
    if (!must && draw(3) > 0) return field;
    std::string quoted = "\"";
    for (const char c : field) quoted.append(c == '"' ? 2 : 1, c);
    return quoted + '"';
  }

  std::mt19937_64 random_;
  char separator_;
};

TEST(CsvTables, AreReadAsByAPlainParserWhereverBlocksAreCut) {
  TemporaryFolder folder;
  std::uint64_t kept = 0;
  for (std::uint64_t seed = 0; seed < 256; ++seed) {
    const char separator = ",;\t"[seed % 3];
    const std::string text = RandomTable(seed, separator).text(static_cast<int>(seed % 40));
    const auto file = folder.write("table.csv", text);
    const std::string policy = seed % 2 == 0 ? "skip" : "unknown";
    const TableEntries expected = expected_entries(split_plainly(text, separator), policy);
    TableOptions options{.columns = {{"a", "b"}, "v"}};
    options.missing = {true, seed % 2 == 0 ? "" : policy};
    options.dialect.separator = seed % 5 == 0 ? separator : '\0';
    kept += expected.rows.size();

    for (const std::size_t block_bytes : {std::size_t{1} + seed % 64, std::size_t{65536}}) {
      options.block_bytes = block_bytes;
      ASSERT_EQ(read_entries_of(file, options, 1 + static_cast<int>(seed % 3)), expected)
          << seed << ", blocks of " << block_bytes << ":\n"
          << text;
    }
  }
  EXPECT_GT(kept, 2000U);
}

TEST(CsvTables, RowsAreFoundInATextThatGrows) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::string text = RandomTable(seed, ';').text(6);
    RowScan growing(';');
    for (std::size_t size = 0; size <= text.size(); size += 1 + seed % 7) {
      const std::string_view part(text.data(), size);
      const std::size_t end = growing.find_end(part);

      ASSERT_EQ(end, RowScan(';').find_end(part)) << seed << " " << size;
      // A prefix of whole rows and the rest together have the rows of the text.
      std::vector<Fields> rows = split_plainly(text.substr(0, end), ';');
      const std::vector<Fields> rest = split_plainly(text.substr(end), ';');
      rows.insert(rows.end(), rest.begin(), rest.end());
      ASSERT_EQ(rows, split_plainly(text, ';')) << seed << " " << size;
      // No later line end ends a row.
      for (std::size_t at = text.find('\n', end); at < size; at = text.find('\n', at + 1)) {
        std::vector<Fields> split = split_plainly(text.substr(0, at + 1), ';');
        const std::vector<Fields> after = split_plainly(text.substr(at + 1), ';');
        split.insert(split.end(), after.begin(), after.end());
        ASSERT_NE(split, split_plainly(text, ';')) << seed << " " << size;
      }
    }
  }
}

}  // namespace
}  // namespace blco
