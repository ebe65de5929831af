// Checks the numbers of a model.
#include <blco/model.hpp>
#include <cmath>
#include <string>

#include "blco/error.hpp"
#include "engine/model/model_check.hpp"

namespace blco {
namespace {

[[noreturn]] void fail_model(const std::string& what) {
  throw Error(ErrorKind::corrupt, "the model is invalid: " + what + "; fit it again, or normalise its columns");
}

// Columns of a checkpoint may have other norms than those of a model.
bool has_unit_columns(const CpdModel& model, std::size_t n) {
  if (model.method != "als" && model.stop_reason == StopReason::unfinished) return false;
  return model.constraints.empty() || model.constraints[n].normalises();
}

void check_column(const CpdModel& model, std::size_t n, std::size_t r) {
  constexpr double tolerance = 1e-5;
  const auto rank = static_cast<std::size_t>(model.rank);
  const std::string name = "column " + std::to_string(r) + " of factor " + std::to_string(n);
  long double squares = 0;
  for (std::size_t at = r; at < model.factors[n].size(); at += rank) {
    const double entry = model.factors[n][at];
    if (!std::isfinite(entry)) fail_model("row " + std::to_string(at / rank) + " in " + name + " is not finite");
    squares += static_cast<long double>(entry) * entry;
  }
  const auto norm = static_cast<double>(std::sqrt(squares));
  if (has_unit_columns(model, n) && norm != 0 && std::abs(norm - 1) > tolerance) {
    fail_model(name + " has the norm " + std::to_string(norm) + ", not 1");
  }
}

}  // namespace

void verify(const CpdModel& model) {
  if (const std::string fault = size_fault(model); !fault.empty()) fail_model(fault);
  const auto rank = static_cast<std::size_t>(model.rank);
  for (std::size_t r = 0; r < rank; ++r) {
    if (!std::isfinite(model.weights[r])) fail_model("weight " + std::to_string(r) + " is not finite");
  }
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    for (std::size_t r = 0; r < rank; ++r) check_column(model, n, r);
  }
  for (std::size_t sweep = 0; sweep < model.fit_history.size(); ++sweep) {
    // Rounding may lift a perfect fit slightly above 1.
    if (!(model.fit_history[sweep] <= 1 + 1e-12)) {
      fail_model("the fit after sweep " + std::to_string(sweep + 1) + " is " +
                 std::to_string(model.fit_history[sweep]) + ", but a fit is at most 1");
    }
  }
}

}  // namespace blco
