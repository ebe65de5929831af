// Numbers keys: the keys of a wave of blocks in input order, all modes in parallel.
#include "io/table/csv_reader.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "io/table/csv_header.hpp"
#include "io/table/mode_keys.hpp"
#include "io/text/block_reader.hpp"
#include "io/text/quoted_text.hpp"
#include "io/text/text_source.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

// How far ahead a dictionary's memory is prefetched.
constexpr std::size_t prefetch_keys = 8;

struct Block : ParsedBlock<CsvBlock> {
  const CsvForm* form = nullptr;                    // of its file
  std::vector<std::vector<std::uint32_t>> numbers;  // per mode, the numbers of its keys
  std::vector<std::string> unknown;                 // per mode, the first key that is not known, if only those count
  std::uint64_t unknown_rows = 0;                   // left out
};

std::string rounded_up(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  if (bytes < mebibyte) return std::to_string((bytes + 1023) >> 10) + " KiB";
  return std::to_string((bytes + mebibyte - 1) / mebibyte) + " MiB";
}

class CsvReader final : public BlockReader<Block> {
 public:
  CsvReader(std::vector<fs::path> files, const CsvOptions& options, std::unique_ptr<TableHeaders> headers,
            Executor& executor)
      : BlockReader(std::move(files),
                    {options.skip_lines, options.block_bytes,
                     [found = headers.get()](auto... text) { return found->find(text...); }},
                    executor),
        options_(options),
        headers_(std::move(headers)),
        skipped_(options.columns.modes.size() + 1) {}

  // A mode is as long as its number of labels, even if some do not occur.
  std::vector<std::uint64_t> declared_shape() const override {
    std::vector<std::uint64_t> shape;
    for (const ModeKeys& mode : modes_) shape.push_back(mode.length());
    return shape;
  }

  std::string format() const override {
    const char separator = headers_->empty() ? ',' : headers_->form(0).separator;
    if (separator == ',') return "CSV";
    return separator == '\t' ? "TSV" : std::string("text separated by '") + separator + "'";
  }

  std::uint64_t memory_bytes() const override {
    return csv_reader_bytes(options_.block_bytes, executor().width(), !options_.numbers_new_keys);
  }

  std::string place_of(std::size_t entry) const override {
    if (options_.numbers_new_keys) return name();
    const char* const text = delivered_->text.data();
    const auto lines = std::count(text, text + delivered_->result.row_begins[entry], '\n');
    return "line " + std::to_string(delivered_lines_ + static_cast<std::uint64_t>(lines) + 1) + " of " +
           files()[delivered_->file].string();
  }

  std::string unknown_key(std::size_t mode, std::uint64_t) const override { return delivered_->unknown[mode]; }

  std::uint64_t kept_bytes() const override {
    std::uint64_t bytes = 0;
    for (const ModeKeys& mode : modes_) bytes += mode.memory_bytes();
    return bytes;
  }

  std::vector<SkippedRows> skipped_rows() const override {
    std::vector<SkippedRows> skipped;
    for (std::size_t n = 0; n < skipped_.size(); ++n) {
      if (skipped_[n] == 0) continue;
      const CsvForm& form = headers_->form(0);
      const int role = n + 1 == skipped_.size() ? CsvForm::value : static_cast<int>(n);
      const auto column = std::ranges::find(form.roles, role) - form.roles.begin();
      skipped.push_back({form.names[static_cast<std::size_t>(column)], skipped_[n]});
    }
    return skipped;
  }

  std::uint64_t unknown_rows() const override { return unknown_rows_; }

  std::vector<Labels> take_labels() override {
    std::vector<Labels> labels;
    for (ModeKeys& mode : modes_) labels.push_back(mode.take_labels());
    return labels;
  }

  std::vector<std::vector<std::uint32_t>> take_final_coordinates() override {
    std::vector<std::vector<std::uint32_t>> coordinates;
    for (ModeKeys& mode : modes_) coordinates.push_back(mode.take_coordinates());
    return coordinates;
  }

  std::vector<KeyedMode> keyed_modes() const override {
    std::vector<KeyedMode> keyed;
    for (const ModeKeys& mode : modes_) {
      const std::uint64_t wanted = mode.form().has_known_bins ? 0 : mode.form().reading.bins;
      keyed.push_back({mode.mode(), mode.new_labels(), wanted, mode.bin_count(), !mode.form().is_computed()});
    }
    return keyed;
  }

 private:
  void look_at(Block& block) override {
    if (modes_.empty()) make_modes();
    block.form = &headers_->form(block.file);
  }

  // A table may have no rows.
  void look_at_end() override {
    if (modes_.empty() && !headers_->empty()) make_modes();
  }

  // Once the first header is known; the readings of fields are the same in all files.
  void make_modes() {
    const CsvForm& form = headers_->form(0);
    std::vector<ComputedForm> readings = form.readings;
    const std::vector<std::string>& names = options_.mode_names.empty() ? form.mode_names : options_.mode_names;
    std::vector<Labels> known(names.size());
    if (options_.known) known = std::exchange(options_.known, {})(names);
    known.resize(readings.size());
    const std::string option = option_name("columns.labels_from");
    if (options_.known_from.name.empty()) options_.known_from = {option, ", or leave out " + option};
    for (std::size_t n = 0; n < readings.size(); ++n) {
      const std::string& name = n < names.size() ? names[n] : form.mode_names[n];
      if (!known[n].empty()) take_known_bins(known[n], name, options_.known_from, readings[n]);
      readings[n].takes_others = !options_.numbers_new_keys;
      modes_.emplace_back(name, readings[n], std::move(known[n]), options_.known_from);
    }
    headers_->set_readings(std::move(readings));
    known_bytes_ = kept_bytes();
  }

  void parse(Block& block) const override {
    block.result = parse_csv_block({block.text.data(), block.text_bytes}, *block.form);
  }

  void finish(std::span<Block> wave) override {
    const auto refused =
        std::ranges::find_if(wave, [](const Block& block) { return block.failure || block.result.fault; });
    const auto good = wave.first(static_cast<std::size_t>(refused - wave.begin()));
    for (Block& block : good) {
      block.numbers.resize(modes_.size());
      block.unknown.assign(modes_.size(), {});
    }
    executor().run(modes_.size(), [&](std::size_t mode) {
      for (Block& block : good) number_keys(block, mode);
    });
    executor().run(good.size(), [&](std::size_t i) {
      apply_numbers(good[i]);
      if (options_.skips_unknown) skip_unknown(good[i]);
    });
  }

  void number_keys(Block& block, std::size_t mode) {
    if (block.result.keys.empty()) return;
    std::vector<std::uint32_t>& numbers = block.numbers[mode];
    if (!options_.numbers_new_keys) {
      find_keys(block, mode);
      return;
    }
    if (modes_[mode].form().is_computed()) {
      numbers = modes_[mode].number_of_words(std::exchange(block.result.words[mode], {}));
      if (modes_[mode].counts_rows()) count_rows(block, mode);
      return;
    }
    KeyDictionary& dictionary = modes_[mode].dictionary();
    const std::vector<CsvKey> keys = std::move(block.result.keys[mode]);
    numbers.resize(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i + prefetch_keys < keys.size()) dictionary.prefetch(keys[i + prefetch_keys].hash);
      numbers[i] = dictionary.number_of(text_of(keys[i], block), keys[i].hash);
    }
  }

  static std::string_view text_of(const CsvKey& key, const Block& block) {
    return key.begin == CsvKey::missing ? std::string_view(block.form->missing.key)
                                        : std::string_view(block.text.data() + key.begin, key.length);
  }

  // Keys are in the order of their first rows, so the first one that is not known is that of the first such row.
  void find_keys(Block& block, std::size_t mode) const {
    const ModeKeys& known = modes_[mode];
    const std::vector<std::uint64_t> words = std::exchange(block.result.words[mode], {});
    const std::vector<CsvKey> keys = std::move(block.result.keys[mode]);
    std::vector<std::uint32_t>& numbers = block.numbers[mode];
    if (known.form().is_computed()) {
      numbers = known.find_words(words);
    } else {
      for (const CsvKey& key : keys) numbers.push_back(known.dictionary().find(text_of(key, block), key.hash));
    }
    const auto first = static_cast<std::size_t>(
        std::ranges::find(numbers, static_cast<std::uint32_t>(known.known_count())) - numbers.begin());
    if (first == numbers.size()) return;
    block.unknown[mode] = known.form().is_computed() ? known.label_of_word(words[first]) : text_of(keys[first], block);
  }

  void count_rows(const Block& block, std::size_t mode) {
    const RawVector<std::uint32_t>& coordinates = block.result.batch.narrow;
    for (std::size_t at = mode; at < coordinates.size(); at += modes_.size()) {
      modes_[mode].count_row(block.numbers[mode][coordinates[at]]);
    }
  }

  static void apply_numbers(Block& block) {
    CoordinateBatch& batch = block.result.batch;
    const std::size_t order = block.numbers.size();
    batch.upper.assign(order, 0);
    for (std::size_t mode = 0; mode < order; ++mode) {
      const std::vector<std::uint32_t> numbers = std::move(block.numbers[mode]);
      for (std::size_t at = mode; at < batch.narrow.size(); at += order) batch.narrow[at] = numbers[batch.narrow[at]];
      if (!numbers.empty()) batch.upper[mode] = *std::ranges::max_element(numbers);
    }
  }

  void skip_unknown(Block& block) const {
    CoordinateBatch& batch = block.result.batch;
    const std::size_t order = modes_.size();
    std::size_t kept = 0;
    for (std::size_t row = 0; row < batch.count(); ++row) {
      const std::uint32_t* const from = batch.narrow.data() + row * order;
      bool is_known = true;
      for (std::size_t n = 0; n < order; ++n) is_known = is_known && from[n] < modes_[n].known_count();
      if (!is_known) continue;
      std::copy_n(from, order, batch.narrow.data() + kept * order);
      batch.values[kept++] = batch.values[row];
    }
    block.unknown_rows = batch.count() - kept;
    batch.narrow.resize(kept * order);
    batch.values.resize(kept);
    for (std::size_t n = 0; n < order; ++n) {
      batch.upper[n] = std::min<std::uint64_t>(batch.upper[n], modes_[n].known_count() - 1);
    }
  }

  bool deliver(Block& block, CoordinateBatch& batch) override {
    if (block.first_of_file) lines_before_ = block.skipped_lines;
    if (block.result.fault) {
      throw Error(ErrorKind::invalid_argument, "line " + std::to_string(lines_before_ + block.result.fault->line + 1) +
                                                   " of " + files()[block.file].string() + ": " +
                                                   block.result.fault->what);
    }
    delivered_ = &block;
    delivered_lines_ = lines_before_;
    lines_before_ += block.result.line_count;
    for (std::size_t n = 0; n < skipped_.size(); ++n) skipped_[n] += block.result.skipped[n];
    unknown_rows_ += std::exchange(block.unknown_rows, 0);
    check_memory();
    batch = std::move(block.result.batch);
    return batch.count() > 0;
  }

  void end_delivery() override {
    if (std::exchange(has_ended_, true)) return;
    for (ModeKeys& mode : modes_) {
      const std::uint64_t others = kept_bytes() - mode.memory_bytes();
      mode.finish(options_.key_bytes - std::min(options_.key_bytes, others));
    }
  }

  void check_memory() const {
    const std::uint64_t bytes = kept_bytes();
    if (bytes <= options_.key_bytes) return;
    std::uint64_t keys = 0;
    for (const ModeKeys& mode : modes_) keys += mode.key_count();
    const std::uint64_t input_bytes = size().bytes;
    // New keys become rarer, so the rest of the input adds at most its proportional share.
    const double left = input_bytes > bytes_read() && bytes_read() > 0
                            ? static_cast<double>(input_bytes) / static_cast<double>(bytes_read())
                            : 1.0;
    const std::uint64_t known = std::min(known_bytes_, bytes);
    const std::uint64_t whole = known + static_cast<std::uint64_t>(static_cast<double>(bytes - known) * left);
    const std::uint64_t budget = options_.budget_for ? options_.budget_for(whole) : whole;
    throw Error(ErrorKind::out_of_memory,
                "the " + std::to_string(keys) + " keys read so far take " + rounded_up(bytes) +
                    " of memory, but the budget of " + rounded_up(options_.memory_bytes) + " leaves " +
                    rounded_up(options_.key_bytes) + " for keys; give at least " +
                    option_name("memory_bytes", std::to_string((budget >> 20) + 1) + "MiB") +
                    (input_bytes == 0 ? ", perhaps much more" : "") +
                    ", or leave out the column with the most keys, or merge some of its keys" + advice());
  }

  // For a mode whose keys are far more than its labels will be.
  std::string advice() const {
    const auto largest = std::ranges::max_element(modes_, {}, &ModeKeys::memory_bytes);
    if (largest->form().reading.bins == 0) return "";
    return "; each number of the mode " + quoted_for_message(largest->mode()) +
           " is a key until the input has ended: round them";
  }

  CsvOptions options_;
  std::unique_ptr<TableHeaders> headers_;
  std::vector<ModeKeys> modes_;         // with the first header
  std::vector<std::uint64_t> skipped_;  // rows, per mode and then for the value
  std::uint64_t unknown_rows_ = 0;
  std::uint64_t known_bytes_ = 0;  // of the keys that had numbers before
  bool has_ended_ = false;
  std::uint64_t lines_before_ = 0;  // in the file, before the next block to be delivered
  const Block* delivered_ = nullptr;
  std::uint64_t delivered_lines_ = 0;  // in the file, before that block
};

void check_options(const CsvOptions& options) {
  const auto require = [](bool holds, const std::string& what) {
    if (!holds) refuse(what);
  };
  const std::size_t order = options.columns.modes.size();
  require(
      order >= 1 && order <= static_cast<std::size_t>(max_order),
      "a tensor has 1 to " + std::to_string(max_order) + " modes, but " + std::to_string(order) + " columns are named");
  require(options.block_bytes > 0, "the block size is 0; use at least 1 byte");
  const char separator = options.dialect.separator;
  require(separator != '"' && separator != '\n' && separator != '\r',
          option_name("columns.separator") + " must be one character, neither a quote nor an end of line");
  require(options.dialect.decimal == '.' || options.dialect.decimal == ',',
          option_name("columns.decimal") + " must be a dot or a comma");
  const std::string& missing_key = options.missing.key;
  require(!find_invalid_utf8(missing_key),
          "the key for missing fields, " + quoted_for_message(missing_key) + ", is not UTF-8");
}

}  // namespace

std::uint64_t csv_reader_bytes(std::uint64_t block_bytes, int threads, bool keeps_places) {
  // Two waves of text; for one wave, up to four times its text for numbers and values, five for keys of the blocks,
  // nine for what these add to the dictionaries at a time. Where missing keys have a name, numbers and values may take
  // eight times the text, but of text that adds no keys.
  // The place of a row takes four bytes, and a row at least two of text.
  const std::uint64_t places = keeps_places ? 2 : 0;
  return (2 + 4 + 5 + 9 + places) * blocks_per_thread * block_bytes * static_cast<std::uint64_t>(threads);
}

std::unique_ptr<CoordinateReader> open_csv(std::vector<fs::path> inputs, const CsvOptions& options,
                                           Executor& executor) {
  if (inputs.empty()) throw Error(ErrorKind::invalid_argument, "no input file; name at least one");
  check_options(options);
  for (const fs::path& file : inputs) check_readable(file);
  auto headers = std::make_unique<TableHeaders>(inputs, options.columns, options.dialect, options.missing,
                                                !options.numbers_new_keys);
  return std::make_unique<CsvReader>(std::move(inputs), options, std::move(headers), executor);
}

std::vector<std::string> read_csv_columns(const fs::path& file, const CsvDialect& dialect, std::uint64_t skip_lines) {
  const std::vector<fs::path> files = {file};
  std::vector<std::string> names;
  const auto find = [&](std::string_view text, bool is_whole, std::size_t, std::uint64_t lines_before) {
    const auto header = find_csv_header(text, is_whole, dialect, file, lines_before);
    if (header) names = header->names;
    return header ? std::optional<TextPreamble>(TextPreamble{}) : std::nullopt;
  };
  BlockCutter cutter(files, {skip_lines, std::size_t{4} << 10, find});
  TextBlock block;
  cutter.fill(block);
  return names;
}

}  // namespace blco
