#include "kernels/host/entry_terms.hpp"

namespace blco {

double entry_terms(const EntryFunction& function, const double* values, const double* models, std::size_t count,
                   double* weights) {
  return with_rule(function, [&](const auto& rule) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double term = 0;
      double weight = 0;
      rule(values != nullptr ? values[i] : 1.0, models[i], term, weight);
      sum += term;
      weights[i] = function.scale * weight;
    }
    return function.scale * sum;
  });
}

}  // namespace blco
