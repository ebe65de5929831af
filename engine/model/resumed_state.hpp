// What a checkpoint keeps for its method, number by number. Another program may have written it, or the file may be
// damaged, so each number is checked before it is used.
#pragma once

#include <blco/tensor.hpp>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "io/container/model_file.hpp"

namespace blco {

class ResumedState {
 public:
  // The largest number up to which a double holds every whole number.
  static constexpr std::uint64_t largest_count = std::uint64_t{1} << 53;
  static constexpr double any_size = std::numeric_limits<double>::max();

  // `file` must outlive this; `path` is its name. All throw Error{corrupt}, naming file, place and remedy.
  ResumedState(const ModelFileReader& file, const std::filesystem::path& path);

  // Refuses a state that does not have, beside the reordered modes, so many numbers and just these matrices.
  void require(std::size_t numbers, const std::vector<std::string>& matrices) const;
  bool has_matrices() const { return !file_->header().state_matrices.empty(); }
  // 2^n added up over the reordered modes n.
  double reordered_modes() const;
  // Of the fit that was saved.
  std::uint64_t sweeps() const;
  // That of the last sweep; 0 for a method without one.
  double last_fit() const;

  // The next number; the first call gives the one behind the reordered modes.
  // `what` says what it is, such as "the number of steps". Refuses all but whole numbers up to `most`, or numbers from
  // `least` on.
  std::uint64_t next_count(const std::string& what, std::uint64_t most = largest_count);
  double next_number(const std::string& what, double least = -any_size);

  // Passes the rows of all matrices to `sink`, in order.
  void read_rows(const StateRowsSink& sink) const;

  // `what` says what is wrong with the state.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  double next(const std::string& what);
  [[noreturn]] void fail_at_last(const std::string& what, const std::string& demand) const;

  const ModelFileReader* file_;
  std::string name_;
  std::size_t at_ = 1;  // of the next number
};

// Whether the model may be one of this tensor, by the nonzeros and squares that it knows of it. The shape is not looked
// at.
bool is_model_of(const ModelHeader& model, const TensorSummary& tensor);

// Refuses a file that says another number of sweeps than its history has: one of fits or of objectives, not both. A
// file that says none passes. Throws Error{corrupt}.
void check_sweeps(const ModelFile& model, const std::filesystem::path& path);

}  // namespace blco
