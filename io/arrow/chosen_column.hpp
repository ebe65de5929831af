// A column of an Arrow stream that is a mode or the value of a tensor: what its cells may be, and what they mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/arrow/arrow_column.hpp"
#include "io/table/computed_field.hpp"
#include "io/table/time_zone.hpp"

namespace blco {

struct ChosenColumn {
  // Of a child of the table's schema. Throws Error{invalid_argument} for a dictionary that cannot be read.
  ChosenColumn(const ArrowSchema& schema, std::size_t place, int meaning);

  std::size_t number;
  std::string name;
  ArrowType type;                  // of its cells, or of what its dictionary lists
  std::optional<ArrowType> codes;  // of a dictionary
  int role;                        // as CsvForm has it
  bool is_index = false;           // a mode takes its numbers as they are
  bool is_ordered = false;         // all that the dictionary lists are keys, in its order

  // Of the batch at hand.
  ArrowCells cells;   // codes, where there is a dictionary
  ArrowCells listed;  // by the dictionary
  std::size_t list_size = 0;
  std::vector<std::uint8_t> is_gap;  // per cell of the dictionary, whether it is missing; empty: none is

  bool has_dictionary() const { return codes.has_value(); }
  const ArrowCells& keys() const { return has_dictionary() ? listed : cells; }
  // Where the text or number of a row lies in keys(). A code may be outside of the dictionary.
  std::uint64_t at(std::size_t row) const;

  // Throws Error{invalid_argument} unless a mode with this reading can have such cells; null: the value.
  void check_type(const ComputedForm* reading) const;

  // Looks for the zone of the times, where they have one, so that those count by the clock there. Throws
  // Error{invalid_argument} if the machine does not have it.
  void find_zone();

  // Takes the cells of a batch; the one before, null for the first, must be alive. Returns whether the dictionary is
  // another one. Throws Error{corrupt}, without a place, if the batch is none of the schema.
  bool set(const ArrowArray& batch, const ArrowArray* before);

  // Null, an empty text or NaN.
  bool may_be_missing() const;
  bool is_missing(std::size_t row) const;
  bool has_missing(std::size_t begin, std::size_t end) const;  // among these rows

  // These return why a cell is refused, after its place. The cell, of keys(), is not missing. Texts and numbers that
  // are times are taken into `times`.
  std::optional<std::string> find_word(std::size_t cell, const ComputedForm& form, std::uint64_t& word,
                                       TimeSpan& times) const;
  std::optional<std::string> read_value(std::size_t row, char decimal, double& value) const;
  // Of a missing cell, where such are refused, or where a key would take the place of an index.
  std::string explain_missing(std::size_t row, bool are_accepted) const;
  // Of a code that is none of the dictionary.
  std::string explain_code(std::uint64_t code) const;

 private:
  bool is_gap_at(const ArrowCells& in, std::size_t cell) const;

  std::optional<TimeZone> zone_;
};

}  // namespace blco
