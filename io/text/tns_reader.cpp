// Checks orders and headers of coordinate text block by block, and refuses bad input; explains why a line is refused,
// slow and exact, for one line.
#include "io/text/tns_reader.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "io/text/block_reader.hpp"
#include "io/text/foreign_format.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/text_source.hpp"
#include "io/text/tns_block.hpp"
#include "io/text/tns_value.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

struct TnsPlace {
  std::filesystem::path file;
  std::uint64_t line = 0;      // from 1
  bool first_of_file = false;  // no earlier line of this file held an entry
  int index_base = 1;
  bool is_base_fixed = false;  // by the file's format
  int order = 0;               // of the lines before; 0: there are none
  std::string order_from;      // what decided the order, "line 1 of a.tns"
  bool has_values = true;
  ExplainTable explain_table = {};  // may be empty
  bool may_follow_shape = false;    // it follows the line of order_from, which has whole numbers alone
};

bool all_digits(std::string_view field) {
  return !field.empty() && field.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_whole_numbers(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::ranges::all_of(split_fields(line), all_digits);
}

bool is_no_number(std::string_view field) {
  double value = 0;
  return parse_tns_value(field, value) == TnsValueFault::no_number;
}

std::string skip_option(std::uint64_t lines) { return option_name("skip_lines", std::to_string(lines)); }

// Returns an empty text if the coordinate is acceptable.
std::string coordinate_fault(std::string_view field, const TnsPlace& place) {
  const int index_base = place.index_base;
  const std::optional<std::uint64_t> real = all_digits(field) ? std::nullopt : whole_of_real(field);
  if (all_digits(field) || real) {
    std::uint64_t value = real.value_or(0);
    std::from_chars_result result{};
    if (!real) result = std::from_chars(field.data(), field.data() + field.size(), value);
    if (result.ec == std::errc{} && value == 0 && index_base == 1) {
      return std::string("is 0, but coordinates start at 1; ") +
             (place.is_base_fixed ? "correct the line"
                                  : "use " + option_name("index_base", "0") + " if they start at 0");
    }
    const bool good =
        result.ec == std::errc{} && value - static_cast<std::uint64_t>(index_base) != refused_tns_coordinate;
    return good ? ""
                : "is too large: the length of a mode must be below 2^64; renumber its coordinates from " +
                      std::to_string(index_base);
  }
  if (field.starts_with('-') && all_digits(field.substr(1)))
    return "is negative; coordinates start at " + std::to_string(index_base);
  double value = 0;
  if (field.starts_with('+') || parse_tns_value(field, value) == TnsValueFault::none) {
    return "is not a whole number in plain digits, nor a real that is one; correct it";
  }
  return "is not a number; coordinates are integers, so replace the names of this mode by numbers";
}

std::string value_fault(std::string_view field) {
  double value = 0;
  switch (parse_tns_value(field, value)) {
    case TnsValueFault::none:
      return "";
    case TnsValueFault::not_finite:
      return "is not finite; replace it by a finite number, or remove the line";
    case TnsValueFault::overflow:
      return "is too large for a double; scale the values down";
    case TnsValueFault::no_number:
      break;
  }
  return "is not a number; correct or remove the line";
}

std::string count_fault(std::size_t count, const TnsPlace& place) {
  if (const int fields = place.order + (place.has_values ? 1 : 0);
      place.order > 0 && count != static_cast<std::size_t>(fields)) {
    return std::to_string(count) + (count == 1 ? " field" : " fields") + ", but " + place.order_from + " has " +
           std::to_string(fields) + "; every line must have the same number of coordinates" +
           (place.has_values ? ", then a value" : ", and no value") +
           (place.may_follow_shape && std::abs(static_cast<int>(count) - fields) == 1
                ? "; if " + place.order_from + " is a shape, give " + skip_option(place.line - 1)
                : "");
  }
  if (count < 2) return "1 field; a line must have coordinates and a value, separated by blanks or tabs";
  if (count > max_order + 1) {
    return std::to_string(count - 1) + " coordinates; a tensor has at most " + std::to_string(max_order) +
           " modes, so leave some out or merge them";
  }
  return "";
}

std::string field_fault(const std::vector<std::string_view>& fields, const TnsPlace& place) {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool is_value = place.has_values && i + 1 == fields.size();
    const std::string fault = is_value ? value_fault(fields[i]) : coordinate_fault(fields[i], place);
    if (fault.empty()) continue;
    const std::string given = quoted_for_message(fields[i]);
    return is_value ? "the value " + given + " " + fault
                    : "coordinate " + std::to_string(i + 1) + ", " + given + ", " + fault;
  }
  return "";
}

bool is_control(char c) { return (c >= 0 && c < ' ' && c != '\t' && c != '\r') || c == '\x7f'; }

std::string control_fault(std::string_view line) {
  if (line.starts_with("\xff\xfe") || line.starts_with("\xfe\xff")) {
    return "the file is UTF-16; save it as UTF-8 (for example: iconv -f UTF-16 -t UTF-8)";
  }
  const auto at = std::find_if(line.begin(), line.end(), is_control);
  return "byte " + std::to_string(at - line.begin() + 1) + " of the line is a control character (" +
         std::to_string(static_cast<int>(*at)) +
         "), so this is not text; give text, plain or compressed with gzip or zstd";
}

std::string fault_of(std::string_view line, const TnsPlace& place) {
  const bool is_first = place.line == 1;
  const bool may_be_no_text = is_first || (place.first_of_file && place.order == 0);
  if (may_be_no_text) {
    if (auto foreign = explain_foreign_format(line)) return *foreign;
  }
  if (line.size() >= max_tns_line_bytes) return "the line is longer than 1 MiB; is this FROSTT text?";
  if (may_be_no_text) {
    if (place.explain_table) {
      if (auto table = place.explain_table(line, place.file)) return *table;
    }
  }
  if (is_first && line.starts_with(byte_order_mark)) {
    return "the file starts with a UTF-8 byte order mark; remove it (for example: sed -i '1s/^\\xef\\xbb\\xbf//' FILE)";
  }
  if (is_first && std::any_of(line.begin(), line.end(), is_control)) return control_fault(line);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find('\r') != std::string_view::npos) {
    return "a carriage return within the line; end lines in LF or CR LF (for example: tr '\\r' '\\n')";
  }
  for (const auto& [separator, name] : {std::pair(',', "commas"), std::pair(';', "semicolons")}) {
    if (line.find(separator) == std::string_view::npos || (separator == ';' && !is_first)) continue;
    return quoted_for_message(line) + " has " + name +
           ", so this looks like CSV; separate fields by blanks or tabs (for example: tr '" + separator + "' ' ')";
  }
  const std::vector<std::string_view> fields = split_fields(line);
  std::string fault = count_fault(fields.size(), place);
  if (fault.empty() || (place.order == 0 && std::any_of(fields.begin(), fields.end(), is_no_number))) {
    fault = field_fault(fields, place);
  }
  if (place.first_of_file && std::all_of(fields.begin(), fields.end(), is_no_number)) {
    fault += "; use " + skip_option(place.line) + " if the file starts with a header";
  }
  return fault.empty() ? quoted_for_message(line) + " does not hold coordinates and a value" : fault;
}

using Block = ParsedBlock<TnsBlock>;

// Adds after every entry off the diagonal the one that a symmetric matrix implies.
CoordinateBatch mirror(const CoordinateBatch& batch, Symmetry symmetry) {
  std::size_t count = batch.count();
  for (std::size_t i = 0; i < batch.count(); ++i) count += batch.coordinate(i, 0) != batch.coordinate(i, 1);
  CoordinateBatch all;
  all.resize(count, 2, batch.wide.empty());
  std::size_t at = 0;
  const auto add = [&](std::uint64_t row, std::uint64_t column, double value) {
    all.set(at, 0, row);
    all.set(at, 1, column);
    all.values[at++] = value;
  };
  for (std::size_t i = 0; i < batch.count(); ++i) {
    const std::uint64_t row = batch.coordinate(i, 0);
    const std::uint64_t column = batch.coordinate(i, 1);
    add(row, column, batch.values[i]);
    if (row != column) add(column, row, symmetry == Symmetry::skew ? -batch.values[i] : batch.values[i]);
  }
  all.upper.assign(2, *std::ranges::max_element(batch.upper));
  return all;
}

class TnsReader final : public BlockReader<Block> {
 public:
  TnsReader(std::vector<fs::path> files, const TnsOptions& options, Executor& executor)
      : BlockReader(std::move(files), {options.skip_lines, options.block_bytes, {}, options.window_bytes}, executor),
        options_(options),
        order_(options.order),
        order_from_(options.order_from) {}

  std::uint64_t memory_bytes() const override { return tns_reader_bytes(options_.block_bytes, executor().width()); }

  std::vector<std::uint64_t> declared_shape() const override { return shape_; }

  std::string format() const override { return std::string(format_) + " text"; }

  std::vector<std::string> notes() const override {
    if (shape_lines_ == 0) return {};
    return {name_of_line(shape_line_, shape_line_file_) +
            (shape_lines_ > 1 ? " (the first of " + std::to_string(shape_lines_) + " such files)" : "") +
            " has the largest coordinate of each mode, and the number of the other entries as its value; if it is a "
            "header, leave it out with " +
            skip_option(shape_line_) + ", and give " + option_name("shape")};
  }

  std::string place_of(std::size_t entry) const override {
    std::string_view text(delivered_->text.data(), delivered_->text_bytes);
    std::uint64_t line = delivered_lines_;
    for (std::size_t seen = 0; seen <= entry && !text.empty(); ++line) {
      const std::size_t end = text.find('\n');
      seen += entries_of(text.substr(0, end));
      text.remove_prefix(end + 1);
    }
    return name_of_line(line, delivered_->file);
  }

 private:
  std::string name_of_line(std::uint64_t line, std::size_t file) const {
    return "line " + std::to_string(line) + " of " + files()[file].string();
  }

  void parse(Block& block) const override {
    const TextPreamble& preamble = *block.preamble;
    const int order = preamble.shape.empty() ? order_ : static_cast<int>(preamble.shape.size());
    const bool has_values = preamble.has_values && options_.has_values;
    block.result = parse_tns_block({block.text.data(), block.text_bytes}, {order, options_.index_base, has_values});
  }

  // An acceptable line has one, or of a symmetric matrix two; a comment and an empty line none.
  std::size_t entries_of(std::string_view line) const {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::vector<std::string_view> fields = split_fields(line);
    if (fields.empty() || fields[0].starts_with('#')) return 0;
    return preamble_->symmetry != Symmetry::none && fields[0] != fields[1] ? 2 : 1;
  }

  bool deliver(Block& block, CoordinateBatch& batch) override {
    if (block.first_of_file) start_file(block);
    const TnsBlock& result = block.result;
    if (result.first && first_line_ == 0) {
      first_line_ = lines_before_ + result.first->number + 1;
      has_whole_numbers_ = is_whole_numbers(result.first->text);
    }
    // A block is parsed before the order of earlier blocks is known.
    if (result.first && order_ != 0 && result.batch.order != order_) refuse(block, *result.first);
    if (result.failed) refuse_failed(block);
    if (result.first && order_ == 0) fix_order(block, *result.first, result.batch.order);
    delivered_ = &block;
    delivered_lines_ = lines_before_;
    lines_before_ += result.line_count;
    if (result.batch.count() == 0) return false;
    see_extent(result.batch);
    file_entries_ += result.batch.count();
    batch = std::move(block.result.batch);
    if (preamble_->symmetry != Symmetry::none) batch = mirror(batch, preamble_->symmetry);
    return true;
  }

  // A shape, and the number of entries, above the entries of a file look like one of them.
  void see_extent(const CoordinateBatch& batch) {
    if (file_entries_ == 0) {
      first_.clear();
      for (int n = 0; n < batch.order; ++n) first_.push_back(batch.coordinate(0, n));
      first_value_ = batch.values[0];
      upper_ = batch.upper;
    }
    std::ranges::transform(upper_, batch.upper, upper_.begin(), [](auto a, auto b) { return std::max(a, b); });
  }

  void end_file() {
    check_line_count();
    const std::vector<std::uint64_t> first = std::exchange(first_, {});
    if (preamble_ == nullptr || !preamble_->shape.empty() || file_entries_ < 2 || first != upper_) return;
    if (first_value_ != static_cast<double>(file_entries_ - 1)) return;
    if (shape_lines_++ > 0) return;
    shape_line_ = first_line_;
    shape_line_file_ = file_;
  }

  void end_delivery() override { end_file(); }

  void start_file(const Block& block) {
    end_file();
    file_ = block.file;
    lines_before_ = block.skipped_lines;
    file_entries_ = 0;
    first_line_ = 0;
    preamble_ = block.preamble;
    format_ = preamble_->format;
    if (preamble_->counts_from_one && options_.index_base != 1) {
      throw Error(ErrorKind::invalid_argument, files()[file_].string() + " is a " + format_ +
                                                   " file, whose coordinates start at 1; use " +
                                                   option_name("index_base", "1"));
    }
    const std::vector<std::uint64_t>& shape = preamble_->shape;
    if (shape.empty()) return;
    if (shape_.empty()) shape_ = shape;
    if (shape != shape_) {
      throw Error(ErrorKind::invalid_argument,
                  "the header of " + files()[file_].string() + " declares another shape than that of " +
                      files()[shape_file_].string() + "; the files of one tensor must have the same shape");
    }
    if (order_ == 0) {
      order_ = static_cast<int>(shape.size());
      order_from_ = "the header of " + files()[file_].string();
      shape_file_ = file_;
    }
  }

  // For the file that ends here.
  void check_line_count() const {
    if (preamble_ == nullptr || !preamble_->line_count || *preamble_->line_count == file_entries_) return;
    throw Error(ErrorKind::invalid_argument,
                files()[file_].string() + ": its header declares " + std::to_string(*preamble_->line_count) +
                    " entries, but " + std::to_string(file_entries_) +
                    " follow; copy the file again if it was cut off, or correct its header");
  }

  void fix_order(const Block& block, const TnsLine& line, int order) {
    order_ = order;
    order_from_ = name_of_line(lines_before_ + line.number + 1, block.file);
  }

  [[noreturn]] void refuse_failed(const Block& block) {
    const TnsLine& failed = *block.result.failed;
    if (block.result.first && block.result.first->number < failed.number) {
      if (order_ == 0) fix_order(block, *block.result.first, block.result.batch.order);
      file_entries_ = 1;
    }
    refuse(block, failed);
  }

  [[noreturn]] void refuse(const Block& block, const TnsLine& line) const {
    const std::uint64_t line_number = lines_before_ + line.number + 1;
    const TnsPlace place = {.file = files()[block.file],
                            .line = line_number,
                            .first_of_file = file_entries_ == 0,
                            .index_base = options_.index_base,
                            .is_base_fixed = preamble_->counts_from_one,
                            .order = order_,
                            .order_from = order_from_,
                            .has_values = preamble_->has_values && options_.has_values,
                            .explain_table = options_.explain_table,
                            .may_follow_shape = has_whole_numbers_ && line_number == first_line_ + 1 &&
                                                order_from_ == name_of_line(first_line_, block.file)};
    throw Error(ErrorKind::invalid_argument, name_of_line(place.line, block.file) + ": " + fault_of(line.text, place));
  }

  TnsOptions options_;
  int order_;
  std::string order_from_;
  const Block* delivered_ = nullptr;
  std::uint64_t delivered_lines_ = 0;  // in the file, before that block
  std::uint64_t lines_before_ = 0;     // in the file, before the next block to be delivered
  std::size_t file_ = 0;               // being delivered
  std::uint64_t file_entries_ = 0;     // entries of it so far
  const TextPreamble* preamble_ = nullptr;
  const char* format_ = "FROSTT";
  std::vector<std::uint64_t> shape_;  // declared by headers
  std::size_t shape_file_ = 0;
  std::vector<std::uint64_t> first_;  // coordinates of the first entry of the file
  double first_value_ = 0;
  std::uint64_t first_line_ = 0;      // of the file, with an entry; 0: none yet
  bool has_whole_numbers_ = false;    // it has these alone
  std::vector<std::uint64_t> upper_;  // of the file so far
  std::uint64_t shape_lines_ = 0;     // first lines that may be shapes
  std::uint64_t shape_line_ = 0;      // the first of them
  std::size_t shape_line_file_ = 0;
};

}  // namespace

std::uint64_t tns_reader_bytes(std::uint64_t block_bytes, int threads) {
  // Two waves of text, and one wave of batches of at most four times their text.
  return (2 + 4) * blocks_per_thread * block_bytes * static_cast<std::uint64_t>(threads);
}

std::unique_ptr<CoordinateReader> open_tns(std::vector<fs::path> inputs, const TnsOptions& options,
                                           Executor& executor) {
  if (inputs.empty()) throw Error(ErrorKind::invalid_argument, "no input file; name at least one");
  if (options.index_base != 0 && options.index_base != 1) {
    throw Error(ErrorKind::invalid_argument,
                option_name("index_base") + " must be 0 or 1, not " + std::to_string(options.index_base));
  }
  if (options.block_bytes == 0) throw Error(ErrorKind::invalid_argument, "the block size is 0; use at least 1 byte");
  // Checks all files now, rather than find the last one unreadable after hours.
  for (const fs::path& file : inputs) check_readable(file);
  return std::make_unique<TnsReader>(std::move(inputs), options, executor);
}

}  // namespace blco
