// The keys of one mode while a table is read, and what becomes of them at its end: labels and final coordinates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/labels.hpp"
#include "io/table/computed_field.hpp"
#include "io/table/key_dictionary.hpp"

namespace blco {

// Where known labels come from, for messages.
struct KnownSource {
  std::string name;
  std::string remedy;  // ends a sentence on what to do: ", or leave it out"; may be empty
};

// Looks for the bins that known labels mean, where `form` asks for bins. Throws Error{invalid_argument}, which names
// the mode, if they are no such labels or more than asked for. Requires: `known` is not empty.
void take_known_bins(const Labels& known, const std::string& mode, const KnownSource& from, ComputedForm& form);

class ModeKeys {
 public:
  // Known labels get the numbers that they have; with known bins, `form` has those. Throws Error{invalid_argument},
  // which names the mode, if a known label is none that the reading of fields gives.
  ModeKeys(std::string mode, ComputedForm form, Labels known, const KnownSource& from);

  const std::string& mode() const { return mode_; }
  const ComputedForm& form() const { return form_; }

  // Keys are numbered by first appearance, behind the known ones: texts of a mode of keys by the dictionary, words of a
  // computed one by number_word().
  KeyDictionary& dictionary() { return dictionary_; }
  const KeyDictionary& dictionary() const { return dictionary_; }
  std::uint32_t number_word(std::uint64_t word);
  // The same of keys that have numbers; any other gets key_count(), and is not kept.
  std::vector<std::uint32_t> find_words(const std::vector<std::uint64_t>& words) const;
  std::uint64_t known_count() const { return known_count_; }
  // A word as its label says it.
  std::string label_of_word(std::uint64_t word) const;
  // Quantiles need the rows of each key.
  bool counts_rows() const { return form_.reading.kind == FieldReading::Kind::quantiles && !form_.has_known_bins; }
  void count_row(std::uint32_t number) { ++row_count(number); }

  // The moments of a mode of times.
  void add_times(const TimeSpan& times) { times_.add(times); }
  TimeSpan& times() { return times_; }
  const TimeSpan& times() const { return times_; }

  // Distinct keys so far, known ones included.
  std::uint64_t key_count() const { return dictionary_.size(); }
  std::uint64_t memory_bytes() const;

  // At the end of the input, once: makes labels and coordinates, with `max_bytes` of memory at most from then on.
  // Throws Error: out_of_memory or invalid_argument if `every` unit of time would be too many.
  void finish(std::uint64_t max_bytes);

  // From here on: after finish().
  std::uint64_t length() const { return length_; }
  // Those that keys of this input brought: not those that were known, nor units without rows.
  std::uint64_t new_labels() const { return new_labels_; }
  std::uint64_t bin_count() const { return bin_count_; }
  const Labels& labels() const { return labels_; }
  Labels take_labels() { return std::exchange(labels_, {}); }
  // The coordinate of each number; empty: the same.
  std::vector<std::uint32_t> take_coordinates() { return std::exchange(coordinates_, {}); }

 private:
  struct SortedKeys {
    std::vector<std::uint64_t> words;  // by number
    std::vector<std::uint32_t> order;  // the numbers of words that are not known, in the order of the words
  };
  static constexpr std::size_t counts_per_page = 4096;

  std::uint64_t& row_count(std::uint32_t number);
  std::vector<std::uint64_t> take_words();
  SortedKeys sort_keys();
  void finish_indices();
  void finish_time(std::uint64_t max_bytes);
  void finish_every(const SortedKeys& keys, std::uint64_t max_bytes);
  void check_every(std::uint64_t first, std::uint64_t last, std::uint64_t bytes, std::uint64_t max_bytes) const;
  NumberBins quantiles_of(const SortedKeys& keys);
  void finish_bins();
  void finish_known_bins();

  std::string mode_;
  ComputedForm form_;
  Labels known_;
  KeyDictionary dictionary_;
  std::vector<std::unique_ptr<std::uint64_t[]>> row_counts_;
  TimeSpan times_;
  Labels labels_;
  std::vector<std::uint32_t> coordinates_;
  std::uint64_t length_ = 0;
  std::uint64_t known_count_ = 0;
  std::uint64_t new_labels_ = 0;
  std::uint64_t bin_count_ = 0;
};

}  // namespace blco
