// Reads a field of a mode of times or numbers as a word: the key that the mode is numbered by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/table/mode_column.hpp"
#include "io/table/number_bins.hpp"

namespace blco {

// How the fields of one mode are read; the same for all blocks of an input.
struct ComputedForm {
  FieldReading reading = {};
  char decimal = '.';            // of numbers
  std::string missing_key = {};  // the field that says that there is none; empty: none does
  bool has_known_bins = false;   // a word is the number of one of known_bins; else the number itself
  NumberBins known_bins = {};
  bool takes_others =
      false;  // of a number outside of known_bins the word is the number itself, which is that of no bin

  bool is_computed() const { return reading.kind != FieldReading::Kind::keys; }
};

// Sets `word`; blanks around the field do not count. Returns false for a field that is refused.
// Requires: form.is_computed().
bool word_of_field(std::string_view field, const ComputedForm& form, std::uint64_t& word);

// Why a field is refused, and what to do: "'x' is ...", as a part of a message. Slow.
std::string explain_refused_field(std::string_view field, const ComputedForm& form);

}  // namespace blco
