// Keys are numbered by the readers; what becomes of them is the same for all.
#include "io/table/table_modes.hpp"

#include <algorithm>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "io/table/alike_keys.hpp"
#include "io/table/equal_numbers.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

std::string rounded_up(std::uint64_t bytes) {
  constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
  if (bytes < mebibyte) return std::to_string((bytes + 1023) >> 10) + " KiB";
  return std::to_string((bytes + mebibyte - 1) / mebibyte) + " MiB";
}

}  // namespace

void check_options(const TableOptions& options) {
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

TableModes::TableModes(TableOptions options)
    : options_(std::move(options)), skipped_(options_.columns.modes.size() + 1) {}

std::vector<ComputedForm> TableModes::make(const CsvForm& form) {
  std::vector<ComputedForm> readings = form.readings;
  std::vector<std::string> names = options_.mode_names.empty() ? form.mode_names : options_.mode_names;
  for (std::size_t n = names.size(); n < readings.size(); ++n) names.push_back(form.mode_names[n]);
  std::vector<std::string> keyed;
  for (std::size_t n = 0; n < names.size(); ++n) {
    if (n >= readings.size() || !readings[n].is_index()) keyed.push_back(names[n]);
  }
  std::vector<Labels> known;
  if (options_.known) known = std::exchange(options_.known, {})(keyed);
  known.resize(names.size());
  const std::string option = option_name("columns.labels_from");
  if (options_.known_from.name.empty()) options_.known_from = {option, ", or leave out " + option};
  auto labels = known.begin();
  for (std::size_t n = 0; n < readings.size(); ++n) {
    Labels of_mode = readings[n].is_index() ? Labels() : std::move(*labels++);
    if (std::ranges::find(options_.utc_modes, names[n]) != options_.utc_modes.end()) readings[n].reading.is_utc = true;
    if (!of_mode.empty()) take_known_bins(of_mode, names[n], options_.known_from, readings[n]);
    readings[n].takes_others = !options_.numbers_new_keys;
    modes_.emplace_back(names[n], readings[n], std::move(of_mode), options_.known_from);
  }
  for (std::size_t column = 0; column < form.roles.size(); ++column) {
    int mode = form.roles[column];
    if (mode == CsvForm::unused) continue;
    column_names_.resize(skipped_.size());
    column_names_[mode == CsvForm::value ? readings.size() : static_cast<std::size_t>(mode)] = form.names[column];
  }
  known_bytes_ = key_bytes();
  return readings;
}

void TableModes::skip(const std::vector<std::uint64_t>& rows) {
  for (std::size_t n = 0; n < skipped_.size(); ++n) skipped_[n] += rows[n];
}

std::uint64_t TableModes::key_bytes() const {
  std::uint64_t bytes = 0;
  for (const ModeKeys& mode : modes_) bytes += mode.memory_bytes();
  return bytes;
}

void TableModes::check_memory(std::uint64_t bytes_read, std::uint64_t size) const {
  const std::uint64_t bytes = key_bytes();
  if (bytes <= options_.key_bytes) return;
  std::uint64_t keys = 0;
  for (const ModeKeys& mode : modes_) keys += mode.key_count();
  // New keys become rarer, so the rest of the input adds at most its proportional share.
  const double left =
      size > bytes_read && bytes_read > 0 ? static_cast<double>(size) / static_cast<double>(bytes_read) : 1.0;
  const std::uint64_t known = std::min(known_bytes_, bytes);
  const std::uint64_t whole = known + static_cast<std::uint64_t>(static_cast<double>(bytes - known) * left);
  const std::uint64_t budget = options_.budget_for ? options_.budget_for(whole) : whole;
  const std::string enough = option_name("memory_bytes", std::to_string((budget >> 20) + 1) + "MiB");
  throw Error(ErrorKind::out_of_memory,
              "the " + std::to_string(keys) + " keys read so far take " + rounded_up(bytes) +
                  " of memory, but the budget of " + rounded_up(options_.memory_bytes) + " leaves " +
                  rounded_up(options_.key_bytes) + " for keys; give " +
                  (size == 0 ? "at least " + enough + ", perhaps much more"
                             : enough + ", which is enough unless new keys come more often later") +
                  ", or leave out the column with the most keys, or merge some of its keys" + advice());
}

// For a mode whose keys are far more than its labels will be.
std::string TableModes::advice() const {
  const auto largest = std::ranges::max_element(modes_, {}, &ModeKeys::memory_bytes);
  if (largest->form().reading.bins == 0) return "";
  return "; each number of the mode " + quoted_for_message(largest->mode()) +
         " is a key until the input has ended: round them";
}

void TableModes::finish() {
  if (std::exchange(has_ended_, true)) return;
  for (ModeKeys& mode : modes_) {
    const std::uint64_t others = key_bytes() - mode.memory_bytes();
    mode.finish(options_.key_bytes - std::min(options_.key_bytes, others));
    if (options_.numbers_new_keys) note(mode);
  }
}

// Of keys that may mean the same, and of times that may have been written otherwise. The numbers of keys take less
// memory than their dictionary did, which is gone by now.
void TableModes::note(const ModeKeys& mode) {
  const std::string name = "the mode " + quoted_for_message(mode.mode());
  if (!mode.form().is_computed()) {
    const Labels& labels = mode.labels();
    const auto note_pairs = [&](std::uint64_t pairs, const char* of_one, const char* of_more,
                                const std::string& shown) {
      notes_.push_back(name + ": " + std::to_string(pairs) + (pairs == 1 ? of_one : of_more) + " (" + shown +
                       "); write them alike if they mean the same");
    };
    if (const KeyPairs equal = find_equal_numbers(labels, options_.dialect.decimal); equal.pairs > 0) {
      note_pairs(equal.pairs, " pair of keys is equal as numbers", " pairs of keys are equal as numbers",
                 quoted_for_message(labels[equal.first]) + " and " + quoted_for_message(labels[equal.second]));
    }
    if (const KeyPairs alike = find_alike_keys(labels); alike.pairs > 0) {
      note_pairs(alike.pairs, " pair of keys differs only by blanks around them or by how accents are encoded",
                 " pairs of keys differ only by blanks around them or by how accents are encoded",
                 show_alike_keys(labels, alike));
    }
    return;
  }
  if (mode.form().is_index()) return;
  const TimeSpan& times = mode.times();
  constexpr std::int64_t first_of_1971 = 31'536'000;
  constexpr std::int64_t first_of_2101 = 4'133'980'800;
  if (times.has_others || times.first > times.last) return;
  const bool is_1970 = times.first >= 0 && times.last < first_of_1971;
  if (!is_1970 && times.first < first_of_2101) return;
  const auto label = [](std::int64_t seconds) {
    return time_unit_label(time_unit_at(seconds, TimeUnit::minute), TimeUnit::minute);
  };
  notes_.push_back(name + ": all of its times lie " + (is_1970 ? "in 1970" : "after 2100") + ", from " +
                   label(times.first) + " to " + label(times.last) +
                   "; a number counts seconds since 1970, or smaller units where it is large: if these mean other "
                   "times, write them as ISO 8601 has them");
}

std::vector<std::uint64_t> TableModes::lengths() const {
  std::vector<std::uint64_t> lengths;
  for (const ModeKeys& mode : modes_) lengths.push_back(mode.length());
  return lengths;
}

std::vector<SkippedRows> TableModes::skipped_rows() const {
  std::vector<SkippedRows> skipped;
  for (std::size_t n = 0; n < skipped_.size(); ++n) {
    if (skipped_[n] > 0) skipped.push_back({column_names_[n], skipped_[n]});
  }
  return skipped;
}

std::vector<Labels> TableModes::take_labels() {
  std::vector<Labels> labels;
  for (ModeKeys& mode : modes_) labels.push_back(mode.take_labels());
  return labels;
}

std::vector<std::vector<std::uint32_t>> TableModes::take_final_coordinates() {
  std::vector<std::vector<std::uint32_t>> coordinates;
  for (ModeKeys& mode : modes_) coordinates.push_back(mode.take_coordinates());
  return coordinates;
}

std::vector<KeyedMode> TableModes::keyed_modes() const {
  std::vector<KeyedMode> keyed;
  for (std::size_t n = 0; n < modes_.size(); ++n) {
    const ModeKeys& mode = modes_[n];
    const std::uint64_t wanted = mode.form().has_known_bins ? 0 : mode.form().reading.bins;
    const FieldReading& reading = mode.form().reading;
    const bool is_local = reading.kind == FieldReading::Kind::time && !reading.is_utc;
    keyed.push_back({mode.mode(), mode.new_labels(), wanted, mode.bin_count(), !mode.form().is_computed(), is_local});
  }
  return keyed;
}

}  // namespace blco
