// The options of a CP fit in a table. Programs add its rows as flags, the Python module reads them as keywords, and
// messages name options by it.
#pragma once

#include <blco/cpd_options.hpp>
#include <blco/tensor.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace blco {

// Modes as a user names them.
struct ModeChoice {
  struct Word {
    std::string text;
    bool is_number = false;  // of a mode, even where another mode has this name

    bool operator==(const Word&) const = default;
  };
  bool all = false;  // that are not held
  std::vector<Word> modes = {};

  bool operator==(const ModeChoice&) const = default;
};

struct BoxChoice {
  double lower = 0;
  double upper = 0;
  ModeChoice modes = {.all = true};

  bool operator==(const BoxChoice&) const = default;
};

// The comment says which alternative of OptionValue it has.
enum class OptionKind {
  flag,     // bool
  on_off,   // bool
  whole,    // std::uint64_t
  bytes,    // std::uint64_t
  real,     // double
  seconds,  // double
  choice,   // std::string, one of OptionRow::choices
  loss,     // std::string, as parse_loss() takes it
  path,     // std::string
  words,    // std::vector<std::string>
  modes,    // ModeChoice
  box,      // BoxChoice
  model,    // const CpdModel*
  tensor,   // const Tensor*
};

// Nothing: the option has no value of its own, and the fit finds one.
using OptionValue = std::variant<std::monostate, bool, std::uint64_t, double, std::string, std::vector<std::string>,
                                 ModeChoice, BoxChoice, const CpdModel*, const Tensor*>;

// What a user reads of an option.
struct OptionRow {
  std::string name;        // the keyword, and with hyphens the flag
  std::string flag = {};   // where that is another one, without its hyphens
  std::string field = {};  // of the option structs, where it is not the name
  std::string group = {};  // the title above it in the help of programs
  OptionKind kind = OptionKind::flag;
  std::vector<std::string> methods = {};  // that have it; empty: all
  std::string word = {};                  // what --help calls its value, such as "N"; in brackets: it may be left out
  std::vector<std::string> choices = {};
  // Of whole and real numbers. The default may lie outside: it then stands for no value.
  std::uint64_t least = 0;
  bool is_above_least = false;
  std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<int>::max());
  bool is_kept = false;  // in the file of a model, and a resumed fit takes it from there where it is not given
  // Sentences. They name options in backticks, as messages do (blco/option_name.hpp).
  std::string help = {};
  std::string syntax = {};  // of the value after the flag, a sentence; --help alone has it
  std::string usual = {};   // the default in words; empty: that of the field

  const std::string& field_name() const { return field.empty() ? name : field; }
};

// A row of a table of `Options`.
template <class Options>
struct Option : OptionRow {
  // Both are empty where the option is a part of the constraints of modes. With another method in `options`, `set` does
  // nothing and `get` gives the default.
  std::function<void(Options& options, const OptionValue& value)> set = {};
  std::function<OptionValue(const Options& options)> get = {};
  bool is_of_method = false;  // a field of the method's own struct
};

// In the order of --help. Those of Compute are rows of the other table too.
const std::vector<Option<CpdOptions>>& cpd_option_table();
const std::vector<Option<Compute>>& compute_option_table();

// The row with this name, or null.
template <class Options>
const Option<Options>* find_option(const std::vector<Option<Options>>& table, std::string_view name) {
  for (const Option<Options>& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Throws Error{invalid_argument} if the value is not in the row's range. `usual` is the default, which is taken.
void check_value(const OptionRow& row, const OptionValue& value, const OptionValue& usual);
// Same for all options that have a number.
void check_ranges(const CpdOptions& options);

// The default in words; empty: there is none. `usual` is that of the field.
std::string words_of_default(const OptionRow& row, const OptionValue& usual);
template <class Options>
std::string words_of_default(const Option<Options>& row) {
  return words_of_default(row, row.get ? row.get({}) : OptionValue());
}

struct GivenOption {
  std::string name;
  OptionValue value;
};

// Puts what a user gives into `options`, in any order. With "resume" among it, what the file keeps comes first. If an
// option of "hold", "nonnegative", "simplex", "box" and "l1" is among it, the constraints of before are dropped. Throws
// Error: invalid_argument (an option of another method, a value out of its range, a mode that the tensor lacks, two
// constraints of one mode), or as options_of_model() does.
void set_options(CpdOptions& options, const std::vector<GivenOption>& given, const TensorSummary& tensor);

// Gives `wanted` to the chosen modes. `constraints` then has one for each mode. Throws Error{invalid_argument} for a
// mode that does not exist or has another constraint. `option` is the name that messages give.
void constrain(const std::string& option, const ModeChoice& chosen, const TensorSummary& tensor,
               const RowConstraint& wanted, std::vector<RowConstraint>& constraints);

// What the file of a model keeps of the method's own options: numbers that are not the defaults, such as "inner=3".
std::vector<std::string> kept_options(const CpdOptions& options);
// The other way round. A name that the method does not have is passed over. Throws Error{corrupt}, which names `file`.
void take_kept(const std::vector<std::string>& kept, const std::filesystem::path& file, CpdOptions& options);

}  // namespace blco
