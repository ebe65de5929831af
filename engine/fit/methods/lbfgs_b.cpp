#include "engine/fit/methods/lbfgs_b.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

// The library's only entry, setulb, as gfortran compiles it: the lengths of the two texts come last.
extern "C" void blco_lbfgsb(const int* n, const int* m, double* x, const double* lower, const double* upper,
                            const int* nbd, double* value, double* gradient, const double* factr, const double* pgtol,
                            double* work, int* indices, char* task, const int* print, char* task_state,
                            int* logical_state, int* integer_state, double* double_state, std::size_t task_length,
                            std::size_t state_length);

namespace blco {
namespace {

constexpr std::uint64_t max_int = std::numeric_limits<int>::max();

// What the library keeps between its calls, and what it wants next.
struct Conversation {
  std::array<char, 60> task{};
  std::array<char, 60> task_state{};
  std::array<int, 4> logical_state{};
  std::array<int, 44> integer_state{};
  std::array<double, 29> double_state{};

  Conversation() {
    task.fill(' ');
    task_state.fill(' ');
    std::ranges::copy(std::string_view("START"), task.begin());
  }
  bool wants(std::string_view what) const { return std::string_view(task.data(), task.size()).starts_with(what); }
};

}  // namespace

int LbfgsB::corrections(std::uint64_t count) {
  constexpr std::uint64_t usual = 10;
  const std::uint64_t room = (max_int / std::max<std::uint64_t>(count, 1) - 6) / 2;
  return static_cast<int>(std::min(usual, room));
}

// As the library's documentation has it.
std::uint64_t LbfgsB::work_numbers(std::uint64_t count) {
  const auto m = static_cast<std::uint64_t>(corrections(count));
  return 2 * m * count + 5 * count + 11 * m * m + 8 * m;
}

std::uint64_t LbfgsB::bytes(std::uint64_t count) {
  constexpr std::uint64_t vectors = 4;
  constexpr std::uint64_t index_vectors = 4;
  return (vectors * count + work_numbers(count)) * sizeof(double) + index_vectors * count * sizeof(int);
}

LbfgsB::LbfgsB(std::uint64_t count, bool nonnegative)
    : x_(count), best_(count), gradient_(count), lower_(count), bounds_(count, nonnegative ? 1 : 0) {
  work_.resize(work_numbers(count));
  indices_.resize(3 * count);
}

LbfgsB::Result LbfgsB::minimize(const Function& function, int max_evaluations, const StopPoll& stop) {
  const int n = static_cast<int>(x_.size());
  const int m = corrections(x_.size());
  constexpr double never = 0;  // its own tolerances
  constexpr int print_nothing = -1;
  Conversation talk;
  Result result;
  double value = 0;
  std::ranges::fill(work_, 0.0);
  std::ranges::fill(indices_, 0);
  for (;;) {
    blco_lbfgsb(&n, &m, x_.data(), lower_.data(), lower_.data(), bounds_.data(), &value, gradient_.data(), &never,
                &never, work_.data(), indices_.data(), talk.task.data(), &print_nothing, talk.task_state.data(),
                talk.logical_state.data(), talk.integer_state.data(), talk.double_state.data(), talk.task.size(),
                talk.task_state.size());
    if (talk.wants("NEW_X")) continue;
    // Its tolerances of zero hold, or rounding hides any progress.
    if (!talk.wants("FG") || result.evaluations == max_evaluations) break;
    value = function(x_, gradient_);
    if (result.evaluations++ == 0) result.first_value = result.value = value;
    result.is_best_last = result.evaluations == 1 || value < result.value;
    if (result.is_best_last) {
      result.value = value;
      std::ranges::copy(x_, best_.begin());
    }
    if (!std::isfinite(value) || (stop && stop())) break;
  }
  if (talk.wants("ERROR")) {
    throw std::logic_error("L-BFGS-B: " + std::string(talk.task.data(), talk.task.size()));
  }
  x_.swap(best_);
  return result;
}

}  // namespace blco
