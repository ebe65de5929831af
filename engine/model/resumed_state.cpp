#include "engine/model/resumed_state.hpp"

#include <cmath>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/number_text.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {
namespace {

std::string in_words(std::size_t numbers, const std::vector<std::string>& matrices) {
  std::string words = std::to_string(numbers) + (numbers == 1 ? " number" : " numbers");
  for (std::size_t i = 0; i < matrices.size(); ++i) {
    words += (i == 0 ? matrices.size() == 1 ? " and the matrix " : " and the matrices " : ", ");
    words += quoted_for_message(matrices[i]);
  }
  return words;
}

[[noreturn]] void refuse_file(const std::string& name, const std::string& what) {
  throw Error(ErrorKind::corrupt,
              name + ": " + what +
                  "; resume another checkpoint, or start from the factors of this one by giving it as " +
                  option_name("initial"));
}

}  // namespace

ResumedState::ResumedState(const ModelFileReader& file, const std::filesystem::path& path)
    : file_(&file), name_(path.string()) {}

void ResumedState::fail(const std::string& what) const { refuse_file(name_, what); }

void ResumedState::fail_at_last(const std::string& what, const std::string& demand) const {
  const std::size_t last = at_ - 1;
  fail("state/numbers[" + std::to_string(last) + "], " + what + ", is " + in_full(file_->header().state_numbers[last]) +
       ", but must be " + demand);
}

void ResumedState::require(std::size_t numbers, const std::vector<std::string>& matrices) const {
  const ModelFile& header = file_->header();
  if (header.state_numbers.size() == numbers + 1 && header.state_matrices == matrices) return;
  fail("the state of its method has " + in_words(header.state_numbers.size(), header.state_matrices) + ", but method " +
       header.method + " with loss " + to_string(header.loss) + " keeps " + in_words(numbers + 1, matrices));
}

double ResumedState::reordered_modes() const {
  if (file_->header().state_numbers.empty()) fail("the state of its method lacks numbers");
  return file_->header().state_numbers.front();
}

double ResumedState::next(const std::string& what) {
  const std::vector<double>& numbers = file_->header().state_numbers;
  if (at_ >= numbers.size()) fail("the state of its method lacks " + what);
  return numbers[at_++];
}

std::uint64_t ResumedState::next_count(const std::string& what, std::uint64_t most) {
  const double number = next(what);
  const std::uint64_t limit = most < largest_count ? most : largest_count;
  // The limit is a double too, so that the conversion below is defined for whatever passes.
  if (!(number >= 0 && number <= static_cast<double>(limit) && number == std::trunc(number))) {
    fail_at_last(what, "a whole number from 0 to " + std::to_string(limit));
  }
  return static_cast<std::uint64_t>(number);
}

double ResumedState::next_number(const std::string& what, double least) {
  const double number = next(what);
  if (!(number >= least) || !std::isfinite(number)) {
    fail_at_last(what, least == -any_size ? "finite" : "finite and at least " + in_full(least));
  }
  return number;
}

std::uint64_t ResumedState::sweeps() const {
  return file_->header().fit_history.size() + file_->header().objective_history.size();
}

double ResumedState::last_fit() const {
  const std::vector<double>& fits = file_->header().fit_history;
  return fits.empty() ? 0 : fits.back();
}

void ResumedState::read_rows(const StateRowsSink& sink) const { file_->read_state(sink); }

bool is_model_of(const ModelHeader& model, const TensorSummary& tensor) {
  // Reordering leaves a tensor the same, but its squares are added in another order.
  constexpr double rounding = 1e-12;
  if (model.tensor_nnz == 0) return true;
  const double difference = std::abs(model.tensor_sum_of_squares - tensor.sum_of_squares);
  return model.tensor_nnz == tensor.nnz && difference <= rounding * tensor.sum_of_squares;
}

void check_sweeps(const ModelFile& model, const std::filesystem::path& path) {
  const std::size_t history = model.fit_history.size() + model.objective_history.size();
  if (!model.fit_history.empty() && !model.objective_history.empty()) {
    refuse_file(path.string(), "it has a history of fits and one of objectives, but a fit has one of them");
  }
  if (model.stated_sweeps == history || model.stated_sweeps == 0) return;
  refuse_file(path.string(),
              "it has " + std::to_string(model.stated_sweeps) + " sweeps, but a history of " + std::to_string(history));
}

}  // namespace blco
