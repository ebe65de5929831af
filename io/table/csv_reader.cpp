// Numbers keys: those that are known while a block is parsed; the new ones of a wave of blocks in input order, all
// modes in parallel.
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

struct Block : ParsedBlock<CsvBlock> {
  const CsvForm* form = nullptr;                    // of its file
  std::vector<std::vector<std::uint32_t>> numbers;  // per mode, the numbers of its keys
  std::vector<std::string> unknown;                 // per mode, the first key that is not known, if only those count
  std::uint64_t unknown_rows = 0;                   // left out
};

class CsvReader final : public TableReader<BlockReader<Block>> {
 public:
  CsvReader(std::vector<fs::path> files, const TableOptions& options, std::unique_ptr<TableHeaders> headers,
            Executor& executor)
      : TableReader(
            options, std::move(files),
            CutOptions{options.skip_lines, options.block_bytes,
                       [found = headers.get()](auto... text) { return found->find(text...); }, options.window_bytes},
            executor),
        headers_(std::move(headers)) {}

  std::string format() const override {
    const char separator = headers_->empty() ? ',' : headers_->form(0).separator;
    if (separator == ',') return "CSV";
    return separator == '\t' ? "TSV" : std::string("text separated by '") + separator + "'";
  }

  std::uint64_t memory_bytes() const override {
    return csv_reader_bytes(modes().options().block_bytes, executor().width(), !modes().options().numbers_new_keys);
  }

  // Of indices among known keys, which are final at once, as far as they have come.
  std::vector<std::uint64_t> declared_shape() const override {
    std::vector<std::uint64_t> lengths = TableReader::declared_shape();
    for (std::size_t n = 0; n < lengths.size(); ++n) {
      if (is_final_index(n)) lengths[n] = n < extents_.size() ? extents_[n] : 0;
    }
    return lengths;
  }

  std::string place_of(std::size_t entry) const override {
    if (modes().options().numbers_new_keys) return name();
    const char* const text = delivered_->text.data();
    const auto lines = std::count(text, text + delivered_->result.row_begins[entry], '\n');
    return "line " + std::to_string(delivered_lines_ + static_cast<std::uint64_t>(lines) + 1) + " of " +
           files()[delivered_->file].string();
  }

  std::string unknown_key(std::size_t mode, std::uint64_t) const override { return delivered_->unknown[mode]; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes = TableReader::notes();
    if (spans_ == 0) return notes;
    notes.push_back(first_span_ + (spans_ > 1 ? " (the first of " + std::to_string(spans_) + " such fields)" : "") +
                    "; if quotes are ordinary characters here, give " + option_name("columns.quotes", "none"));
    return notes;
  }

 private:
  void look_at(Block& block) override {
    make_modes();
    block.form = &headers_->form(block.file);
  }

  // A table may have no rows.
  void look_at_end() override {
    if (!headers_->empty()) make_modes();
  }

  // Once the first header is known; the readings of fields are the same in all files.
  void make_modes() {
    if (modes().empty()) headers_->set_readings(modes().make(headers_->form(0)));
  }

  void parse(Block& block) const override {
    block.result = parse_csv_block({block.text.data(), block.text_bytes}, *block.form);
    block.numbers.resize(modes().size());
    for (std::size_t mode = 0; mode < modes().size(); ++mode) find_keys(block, mode);
  }

  // Dictionaries do not change while blocks are parsed.
  void find_keys(Block& block, std::size_t mode) const {
    std::vector<std::uint32_t>& numbers = block.numbers[mode];
    if (modes()[mode].form().is_computed()) {
      numbers = modes()[mode].find_words(block.result.words[mode]);
      return;
    }
    const std::vector<CsvKey>& keys = block.result.keys[mode];
    numbers.resize(keys.size());
    std::ranges::transform(keys, numbers.begin(), &CsvKey::hash);
    modes()[mode].dictionary().find_all([&](std::size_t i) { return text_of(keys[i], block); }, numbers);
  }

  void finish(std::span<Block> wave) override {
    const auto refused =
        std::ranges::find_if(wave, [](const Block& block) { return block.failure || block.result.fault; });
    const auto good = wave.first(static_cast<std::size_t>(refused - wave.begin()));
    for (Block& block : good) block.unknown.assign(modes().size(), {});
    executor().run(modes().size(), [&](std::size_t mode) {
      const auto unnumbered = static_cast<std::uint32_t>(modes()[mode].key_count());
      for (Block& block : good) number_keys(block, mode, unnumbered);
    });
    executor().run(good.size(), [&](std::size_t i) {
      apply_numbers(good[i]);
      if (modes().options().skips_unknown) skip_unknown(good[i]);
    });
  }

  // Those that are `unnumbered` in block.numbers.
  void number_keys(Block& block, std::size_t mode, std::uint32_t unnumbered) {
    ModeKeys& of_mode = modes()[mode];
    KeyDictionary& dictionary = of_mode.dictionary();
    const std::vector<std::uint64_t> words = std::exchange(block.result.words[mode], {});
    const std::vector<CsvKey> keys = std::exchange(block.result.keys[mode], {});
    std::vector<std::uint32_t>& numbers = block.numbers[mode];
    if (is_final_index(mode)) {
      std::ranges::transform(words, numbers.begin(),
                             [](std::uint64_t word) { return static_cast<std::uint32_t>(integer_of_word(word)); });
      return;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (numbers[i] != unnumbered) continue;
      if (!modes().options().numbers_new_keys) {
        // Keys are in the order of their first rows, so this is that of the first row with such a key.
        block.unknown[mode] = of_mode.form().is_computed() ? of_mode.label_of_word(words[i]) : text_of(keys[i], block);
        return;
      }
      if (of_mode.form().is_computed()) {
        numbers[i] = of_mode.number_word(words[i]);
      } else {
        dictionary.prefetch(keys[std::min(i + KeyDictionary::keys_ahead, keys.size() - 1)].hash);
        numbers[i] = dictionary.number_of(text_of(keys[i], block), keys[i].hash);
      }
    }
    if (of_mode.counts_rows()) count_rows(block, mode);
  }

  // Whose coordinates are final at once.
  bool is_final_index(std::size_t mode) const {
    return modes()[mode].form().is_index() && !modes().options().numbers_new_keys;
  }

  static std::string_view text_of(const CsvKey& key, const Block& block) {
    return key.begin == CsvKey::missing ? std::string_view(block.form->missing.key)
                                        : std::string_view(block.text.data() + key.begin, key.length);
  }

  void count_rows(const Block& block, std::size_t mode) {
    const RawVector<std::uint32_t>& coordinates = block.result.batch.narrow;
    for (std::size_t at = mode; at < coordinates.size(); at += modes().size()) {
      modes()[mode].count_row(block.numbers[mode][coordinates[at]]);
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
    const std::size_t order = modes().size();
    std::size_t kept = 0;
    for (std::size_t row = 0; row < batch.count(); ++row) {
      const std::uint32_t* const from = batch.narrow.data() + row * order;
      bool is_known = true;
      for (std::size_t n = 0; n < order; ++n)
        is_known = is_known && (is_final_index(n) || from[n] < modes()[n].known_count());
      if (!is_known) continue;
      std::copy_n(from, order, batch.narrow.data() + kept * order);
      batch.values[kept++] = batch.values[row];
    }
    block.unknown_rows = batch.count() - kept;
    batch.narrow.resize(kept * order);
    batch.values.resize(kept);
    for (std::size_t n = 0; n < order; ++n) {
      if (is_final_index(n)) continue;
      batch.upper[n] = std::min<std::uint64_t>(batch.upper[n], modes()[n].known_count() - 1);
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
    see_spans(block);
    for (std::size_t mode = 0; mode < modes().size(); ++mode) modes()[mode].add_times(block.result.times[mode]);
    modes().skip(block.result.skipped);
    modes().skip_unknown(std::exchange(block.unknown_rows, 0));
    modes().check_memory(bytes_read(), size().bytes);
    batch = std::move(block.result.batch);
    extents_.resize(modes().size());
    for (std::size_t n = 0; n < extents_.size() && batch.count() > 0; ++n) {
      extents_[n] = std::max(extents_[n], batch.upper[n] + 1);
    }
    return batch.count() > 0;
  }

  void see_spans(const Block& block) {
    const CsvSpans& spans = block.result.spans;
    if (spans_ == 0 && spans.count > 0) {
      const std::uint64_t line = delivered_lines_ + spans.line + 1;
      first_span_ = std::string(block.form->roles[spans.column] >= 0 ? "a quoted key" : "a quoted field") +
                    " of the column " + quoted_for_message(block.form->names[spans.column]) + " spans lines " +
                    std::to_string(line) + " to " + std::to_string(line + spans.breaks) + " of " +
                    files()[block.file].string();
    }
    spans_ += spans.count;
  }

  void end_delivery() override { modes().finish(); }

  std::unique_ptr<TableHeaders> headers_;
  std::uint64_t lines_before_ = 0;  // in the file, before the next block to be delivered
  const Block* delivered_ = nullptr;
  std::uint64_t delivered_lines_ = 0;   // in the file, before that block
  std::vector<std::uint64_t> extents_;  // of the coordinates delivered so far
  std::uint64_t spans_ = 0;             // as CsvSpans counts them
  std::string first_span_;
};

}  // namespace

std::uint64_t csv_reader_bytes(std::uint64_t block_bytes, int threads, bool keeps_places) {
  // Two waves of text; for one wave, up to four times its text for numbers and values, six for keys of the blocks and
  // their numbers, nine for what these add to the dictionaries at a time. Where missing keys have a name, numbers and
  // values may take eight times the text, but of text that adds no keys. The place of a row takes four bytes, and a row
  // at least two of text.
  const std::uint64_t places = keeps_places ? 2 : 0;
  return (2 + 4 + 6 + 9 + places) * blocks_per_thread * block_bytes * static_cast<std::uint64_t>(threads);
}

std::unique_ptr<CoordinateReader> open_csv(std::vector<fs::path> inputs, const TableOptions& options,
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
