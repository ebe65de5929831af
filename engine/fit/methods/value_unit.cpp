#include "engine/fit/methods/value_unit.hpp"

#include <cmath>

#include "engine/fit/methods/fit_method.hpp"
#include "kernels/losses.hpp"

namespace blco {

int value_exponent_of(const TensorSummary& tensor, const CpdMethod& method) {
  return exponent_of_unit(loss_of(method), tensor.sum_of_squares / static_cast<double>(tensor.nnz));
}

CpdMethod in_unit_of_fit(CpdMethod method, int value_exponent) {
  set_loss(method, in_unit(loss_of(method), value_exponent));
  return method;
}

double objective_of_values(double of_fit, const TensorSummary& tensor, const CpdMethod& method, int value_exponent,
                           const ConstantModel& constant) {
  if (value_exponent == 0) return of_fit;
  const LossUnit unit = unit_of(loss_of(method));
  const double cells = count_cells(tensor);
  const double sum_of_values = std::ldexp(constant.value * cells, value_exponent);
  const double offset = value_exponent * std::log(2.0) * (unit.of_cell * cells + unit.of_size * sum_of_values);
  // Products of 2^x with whole x are exact.
  return of_fit * std::exp2(unit.degree * value_exponent) + offset;
}

}  // namespace blco
