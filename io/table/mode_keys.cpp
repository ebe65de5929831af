// Words are sorted once, at the end: until then no key knows its place.
#include "io/table/mode_keys.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"
#include "io/table/computed_field.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

using Kind = FieldReading::Kind;

class LabelList {
 public:
  LabelList(std::uint64_t count, std::uint64_t label_bytes) {
    ends_.reserve(static_cast<std::size_t>(count));
    text_.reserve(static_cast<std::size_t>(count * label_bytes));
  }

  void add(std::string_view label) {
    text_ += label;
    ends_.push_back(text_.size());
  }
  void add(const Labels& labels) {
    for (std::uint64_t i = 0; i < labels.size(); ++i) add(labels[i]);
  }
  std::uint64_t count() const { return ends_.size(); }
  Labels take() { return {std::move(text_), std::move(ends_)}; }

 private:
  std::string text_;
  std::vector<std::uint64_t> ends_;
};

std::uint32_t hash_of_word(const std::uint64_t& word) { return hash_key(key_of_word(word)); }

[[noreturn]] void refuse_known(std::string_view label, const std::string& mode, const KnownSource& from,
                               const std::string& why) {
  refuse("the mode " + quoted_for_message(mode) + " of " + from.name + " has the label " + quoted_for_message(label) +
         ", " + why + "; read the column as that container did, with the same " + option_name("columns.missing") +
         from.remedy);
}

std::uint64_t word_of_known_time(std::string_view label, const std::string& mode, const KnownSource& from,
                                 const ComputedForm& form) {
  if (!form.missing_key.empty() && label == form.missing_key) return missing_word;
  const auto number = number_of_time_label(label, form.reading.unit);
  if (!number) refuse_known(label, mode, from, "which is no " + std::string(name_of(form.reading.unit)));
  return word_of_integer(*number);
}

bool ends_in_missing(const Labels& known, const ComputedForm& form) {
  return !form.missing_key.empty() && known[known.size() - 1] == form.missing_key;
}

NumberBins equal_width_of(const std::vector<std::uint64_t>& words, std::uint64_t count) {
  std::uint64_t lowest = missing_word;
  std::uint64_t highest = 0;
  for (const std::uint64_t word : words) {
    if (word == missing_word) continue;
    lowest = std::min(lowest, word);
    highest = std::max(highest, word);
  }
  if (lowest == missing_word) return {};
  return NumberBins::of_equal_width(number_of_word(lowest), number_of_word(highest), count);
}

// Rounded to either side, so that what is needed never looks like what there is.
std::string mebibytes_needed(std::uint64_t bytes) { return std::to_string((bytes >> 20) + 1) + " MiB"; }
std::string mebibytes_left(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

void take_known_bins(const Labels& known, const std::string& mode, const KnownSource& from, ComputedForm& form) {
  if (form.reading.kind != Kind::bins && form.reading.kind != Kind::quantiles) return;
  const std::uint64_t count = known.size() - (ends_in_missing(known, form) ? 1 : 0);
  const auto bins = NumberBins::of_labels(known, count);
  if (!bins) refuse_known(known[0], mode, from, "and all its labels together are not those of bins");
  if (bins->size() > form.reading.bins) {
    refuse("the mode " + quoted_for_message(mode) + " of " + from.name + " has " + std::to_string(bins->size()) +
           " bins, but " + option_name("columns.modes") + " asks for " + std::to_string(form.reading.bins) +
           "; ask for as many" + from.remedy);
  }
  form.known_bins = *bins;
  form.has_known_bins = true;
}

ModeKeys::ModeKeys(std::string mode, ComputedForm form, Labels known, const KnownSource& from)
    : mode_(std::move(mode)), form_(std::move(form)), known_(std::move(known)) {
  for (std::uint64_t i = 0; i < known_.size(); ++i) {
    if (!form_.is_computed()) {
      if (dictionary_.number_of(known_[i], hash_key(known_[i])) == i) continue;
      refuse("two indices of the mode '" + mode_ + "' of " + from.name + " have the label " +
             quoted_for_message(known_[i]) + "; give a file whose labels all differ");
    }
    const std::uint64_t word = !form_.has_known_bins         ? word_of_known_time(known_[i], mode_, from, form_)
                               : i < form_.known_bins.size() ? i
                                                             : missing_word;
    dictionary_.number_of(key_of_word(word), hash_of_word(word));
    if (dictionary_.size() != i + 1) refuse_known(known_[i], mode_, from, "which stands there twice");
  }
  if (!form_.is_computed()) known_ = {};
  known_count_ = dictionary_.size();
}

std::uint32_t ModeKeys::number_word(std::uint64_t word) {
  return dictionary_.number_of(key_of_word(word), hash_of_word(word));
}

std::vector<std::uint32_t> ModeKeys::find_words(const std::vector<std::uint64_t>& words) const {
  std::vector<std::uint32_t> numbers(words.size());
  std::ranges::transform(words, numbers.begin(), hash_of_word);
  dictionary_.find_all([&](std::size_t i) { return key_of_word(words[i]); }, numbers);
  return numbers;
}

std::string ModeKeys::label_of_word(std::uint64_t word) const {
  if (word == missing_word) return form_.missing_key;
  if (form_.reading.kind == Kind::index) return std::to_string(integer_of_word(word));
  if (form_.reading.kind == Kind::time) return time_unit_label(integer_of_word(word), form_.reading.unit);
  const bool is_bin = form_.has_known_bins && word < form_.known_bins.size();
  return is_bin ? form_.known_bins.label(word) : shortest_number(number_of_word(word));
}

std::uint64_t& ModeKeys::row_count(std::uint32_t number) {
  while (number / counts_per_page >= row_counts_.size()) {
    row_counts_.push_back(std::make_unique<std::uint64_t[]>(counts_per_page));
  }
  return row_counts_[number / counts_per_page][number % counts_per_page];
}

std::uint64_t ModeKeys::memory_bytes() const {
  // Of a page also its pointer, in a list that doubles.
  return dictionary_.memory_bytes() + known_.memory_bytes() +
         row_counts_.size() * (counts_per_page * sizeof(std::uint64_t) + 32) + labels_.memory_bytes() +
         coordinates_.size() * sizeof(std::uint32_t);
}

void ModeKeys::finish(std::uint64_t max_bytes) {
  bin_count_ = form_.known_bins.size();
  new_labels_ = dictionary_.size() - known_count_;
  switch (form_.reading.kind) {
    case Kind::keys:
      labels_ = dictionary_.take();
      break;
    case Kind::index:
      finish_indices();
      return;
    case Kind::time:
      finish_time(max_bytes);
      break;
    case Kind::bins:
    case Kind::quantiles:
      finish_bins();
      break;
  }
  length_ = labels_.size();
  known_ = {};
  bool are_same = true;
  for (std::size_t i = 0; i < coordinates_.size() && are_same; ++i) are_same = coordinates_[i] == i;
  if (are_same) coordinates_ = {};
}

std::vector<std::uint64_t> ModeKeys::take_words() {
  const Labels keys = dictionary_.take();
  std::vector<std::uint64_t> words(static_cast<std::size_t>(keys.size()));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word_of_key(keys[i]);
  return words;
}

ModeKeys::SortedKeys ModeKeys::sort_keys() {
  SortedKeys keys{.words = take_words(), .order = {}};
  const auto known = static_cast<std::size_t>(known_count_);
  // Pairs, because sorting numbers by words elsewhere would wait for memory at every comparison.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> sorted(keys.words.size() - known);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    sorted[i] = {keys.words[known + i], static_cast<std::uint32_t>(known + i)};
  }
  std::ranges::sort(sorted);
  keys.order.reserve(sorted.size());
  for (const auto& [word, number] : sorted) keys.order.push_back(number);
  coordinates_.resize(keys.words.size());
  for (std::size_t i = 0; i < known; ++i) coordinates_[i] = static_cast<std::uint32_t>(i);
  return keys;
}

// Words are the indices.
void ModeKeys::finish_indices() {
  new_labels_ = 0;
  for (const std::uint64_t word : take_words()) {
    coordinates_.push_back(static_cast<std::uint32_t>(integer_of_word(word)));
    length_ = std::max<std::uint64_t>(length_, coordinates_.back() + std::uint64_t{1});
  }
}

void ModeKeys::finish_time(std::uint64_t max_bytes) {
  const SortedKeys keys = sort_keys();
  if (form_.reading.every) return finish_every(keys, max_bytes);
  const TimeUnit unit = form_.reading.unit;
  LabelList labels(keys.words.size(), time_unit_label(0, unit).size());
  labels.add(known_);
  for (const std::uint32_t number : keys.order) {
    const std::uint64_t word = keys.words[number];
    coordinates_[number] = static_cast<std::uint32_t>(labels.count());
    labels.add(word == missing_word ? form_.missing_key : time_unit_label(integer_of_word(word), unit));
  }
  labels_ = labels.take();
}

// All units from the first to the last, in the order of time, behind the known ones.
void ModeKeys::finish_every(const SortedKeys& keys, std::uint64_t max_bytes) {
  const TimeUnit unit = form_.reading.unit;
  std::vector<std::uint64_t> known(keys.words.begin(), keys.words.begin() + static_cast<std::ptrdiff_t>(known_.size()));
  std::ranges::sort(known);
  std::uint64_t first = missing_word;
  std::uint64_t last = 0;
  for (const std::uint64_t word : keys.words) {
    if (word == missing_word) continue;
    first = std::min(first, word);
    last = std::max(last, word);
  }
  const std::uint64_t count = first == missing_word ? 0 : last - first + 1;
  const std::uint64_t label_bytes = time_unit_label(0, unit).size();
  check_every(first, last, Labels::memory_bytes(count, count * label_bytes), max_bytes);
  LabelList labels(count + 1, label_bytes);
  labels.add(known_);
  auto next = keys.order.begin();
  for (std::uint64_t word = first; count > 0 && word <= last; ++word) {
    if (std::ranges::binary_search(known, word)) continue;
    if (next != keys.order.end() && keys.words[*next] == word) {
      coordinates_[*next++] = static_cast<std::uint32_t>(labels.count());
    }
    labels.add(time_unit_label(integer_of_word(word), unit));
  }
  if (next != keys.order.end()) {
    coordinates_[*next] = static_cast<std::uint32_t>(labels.count());
    labels.add(form_.missing_key);
  }
  labels_ = labels.take();
}

void ModeKeys::check_every(std::uint64_t first, std::uint64_t last, std::uint64_t bytes,
                           std::uint64_t max_bytes) const {
  if (first > last) return;
  const TimeUnit unit = form_.reading.unit;
  const bool has_numbers = last - first + 2 < std::numeric_limits<std::uint32_t>::max();
  if (has_numbers && bytes <= max_bytes) return;
  throw Error(has_numbers ? ErrorKind::out_of_memory : ErrorKind::invalid_argument,
              "the mode " + quoted_for_message(mode_) + " would have a label for each " + std::string(name_of(unit)) +
                  " from " + time_unit_label(integer_of_word(first), unit) + " to " +
                  time_unit_label(integer_of_word(last), unit) + ", " + std::to_string(last - first + 1) +
                  (has_numbers ? ", which take " + mebibytes_needed(bytes) + " of memory, but the budget leaves " +
                                     mebibytes_left(max_bytes) + "; raise " + option_name("memory_bytes") + ", correct"
                               : ", but a mode has at most 2^32 - 2 keys; correct") +
                  " times that are far from the others, or leave out :every");
}

void ModeKeys::finish_known_bins() {
  const std::uint64_t keys = std::exchange(dictionary_, KeyDictionary()).size();
  LabelList labels(keys, 0);
  labels.add(known_);
  if (keys > known_.size()) labels.add(form_.missing_key);
  labels_ = labels.take();
}

NumberBins ModeKeys::quantiles_of(const SortedKeys& keys) {
  std::vector<double> numbers;
  std::vector<std::uint64_t> rows;
  numbers.reserve(keys.order.size());
  rows.reserve(keys.order.size());
  for (const std::uint32_t number : keys.order) {
    if (keys.words[number] == missing_word || row_count(number) == 0) continue;
    numbers.push_back(number_of_word(keys.words[number]));
    rows.push_back(row_count(number));
  }
  row_counts_.clear();
  return numbers.empty() ? NumberBins() : NumberBins::of_quantiles(numbers, rows, form_.reading.bins);
}

void ModeKeys::finish_bins() {
  if (form_.has_known_bins) return finish_known_bins();
  NumberBins bins;
  std::vector<std::uint64_t> words;
  if (form_.reading.kind == Kind::quantiles) {
    SortedKeys keys = sort_keys();
    bins = quantiles_of(keys);
    words = std::move(keys.words);
  } else {
    words = take_words();
    bins = equal_width_of(words, form_.reading.bins);
  }
  bool has_missing = false;
  coordinates_.resize(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_missing = words[i] == missing_word;
    has_missing = has_missing || is_missing;
    coordinates_[i] = static_cast<std::uint32_t>(is_missing ? bins.size() : bins.bin_of(number_of_word(words[i])));
  }
  LabelList labels(bins.size() + 1, 0);
  for (std::uint64_t i = 0; i < bins.size(); ++i) labels.add(bins.label(i));
  if (has_missing) labels.add(form_.missing_key);
  labels_ = labels.take();
  bin_count_ = bins.size();
  new_labels_ = labels_.size();
}

}  // namespace blco
