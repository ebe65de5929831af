// CP-ALS: Kolda & Bader, Tensor Decompositions and Applications, SIAM Review 2009, figure 3.3.
#include "engine/fit/cp_als.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "kernels/row_solver.hpp"

namespace blco {

CpAls::CpAls(Backend& backend, Streamer& streamer, int order, int rank, double norm_squared, double ridge,
             StopPoll stop)
    : backend_(&backend),
      streamer_(&streamer),
      order_(order),
      rank_(rank),
      norm_squared_(norm_squared),
      ridge_(ridge),
      stop_(std::move(stop)),
      weights_(static_cast<std::size_t>(rank), 1.0),
      system_ranks_(static_cast<std::size_t>(order), rank) {}

double CpAls::run_sweep(std::uint64_t sweep) {
  double inner = 0;
  weights_before_ = weights_;
  updated_modes_ = 0;
  for (int mode = 0; mode < order_; ++mode) {
    const std::uint64_t pass = sweep * static_cast<std::uint64_t>(order_) + static_cast<std::uint64_t>(mode);
    streamer_->pass(mode, pass % 2 == 0 ? Direction::forward : Direction::backward);
    const RowSolver solver(system_of(mode), rank_, stop_);
    system_ranks_[static_cast<std::size_t>(mode)] = solver.numerical_rank();
    ++updated_modes_;
    RowUpdate update = backend_->update_rows(mode, solver);
    weights_ = std::move(update.norms);
    if (std::ranges::all_of(weights_, [](double weight) { return weight == 0; })) {
      throw Error(ErrorKind::invalid_argument,
                  "every entry of factor " + std::to_string(mode) + " became zero; scale the values up" +
                      (ridge_ > 0 ? ", lower " + option_name("ridge") : "") + ", use " +
                      option_name("precision", "f64") + ", or start from factors that are not zero");
    }
    inner = update.inner;
  }
  return fit(inner, sweep);
}

void CpAls::undo_sweep() {
  for (int mode = 0; mode < updated_modes_; ++mode) backend_->restore_factor(mode);
  weights_ = weights_before_;
}

std::vector<double> CpAls::system_of(int mode) {
  std::vector<double> system = hadamard_of_grams(mode);
  const auto rank = static_cast<std::size_t>(rank_);
  for (std::size_t r = 0; r < rank; ++r) system[r * rank + r] += ridge_;
  return system;
}

std::vector<double> CpAls::hadamard_of_grams(int left_out) {
  std::vector<double> product(static_cast<std::size_t>(rank_) * static_cast<std::size_t>(rank_), 1.0);
  for (int mode = 0; mode < order_; ++mode) {
    if (mode == left_out) continue;
    const std::span<const double> gram = backend_->gram(mode);
    for (std::size_t i = 0; i < product.size(); ++i) product[i] *= gram[i];
  }
  return product;
}

double CpAls::fit(double inner, std::uint64_t sweep) {
  // Relative to the terms added: larger than any rounding error, even with f32.
  constexpr double rounding = 1e-3;
  const std::string where = "the fit of sweep " + std::to_string(sweep + 1);
  const std::vector<double> grams = hadamard_of_grams(-1);
  const auto rank = static_cast<std::size_t>(rank_);
  double model_squared = 0;
  double terms = norm_squared_ + 2 * std::abs(inner);
  for (std::size_t r = 0; r < rank; ++r) {
    for (std::size_t s = 0; s < rank; ++s) {
      const double term = weights_[r] * weights_[s] * grams[r * rank + s];
      model_squared += term;
      terms += std::abs(term);
    }
  }
  double residual_squared = norm_squared_ + model_squared - 2 * inner;
  if (residual_squared < -rounding * terms) {
    throw Error(ErrorKind::corrupt,
                where + " is above 1: the stored sum of squares does not match the values; ingest the tensor again");
  }
  // Cancellation can leave a few rounding errors below zero when the fit is close to 1.
  if (residual_squared < 0) residual_squared = 0;
  const double result = 1 - std::sqrt(residual_squared) / std::sqrt(norm_squared_);
  if (!std::isfinite(result)) {
    throw Error(
        ErrorKind::invalid_argument,
        where + " is not a finite number: the values or the initial factors are too large; scale them down, or use " +
            option_name("precision", "f64"));
  }
  return result;
}

}  // namespace blco
