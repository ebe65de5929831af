// The losses of a generalised CP decomposition, by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace blco {

// What an entry x costs where the model says m. Hong, Kolda and Duersch, Generalized Canonical Polyadic Tensor
// Decomposition, SIAM Review 2020, table 1; e = 1e-10 keeps logarithms and quotients finite.
enum class LossKind {
  gaussian,         // (x - m)^2; any numbers
  poisson,          // m - x log(m + e); counts, m >= 0
  poisson_log,      // exp(m) - x m; counts, m is the logarithm of the rate
  bernoulli_odds,   // log(1 + m) - x log(m + e); x is 0 or 1, m >= 0 is the odds
  bernoulli_logit,  // log(1 + exp(m)) - x m; x is 0 or 1, m is the logarithm of the odds
  gamma,            // x / (m + e) + log(m + e); positive numbers, m >= 0
  rayleigh,         // 2 log(m + e) + pi/4 (x / (m + e))^2; positive numbers, m >= 0
  huber,            // (x - m)^2 up to |x - m| = D, then 2 D |x - m| - D^2; any numbers
  beta,             // (m + e)^B / B - x (m + e)^(B - 1) / (B - 1); numbers and m >= 0
};

struct Loss {
  LossKind kind = LossKind::gaussian;
  double parameter = 0;  // huber: D > 0; beta: B, neither 0 nor 1; else unused

  bool operator==(const Loss&) const = default;
};

// The name as parse_loss reads it, such as "poisson-log" or "huber:0.25".
std::string to_string(const Loss& loss);

// False if the parameter is out of range.
bool is_valid(const Loss& loss);

// Throws Error{invalid_argument} if it is.
void check_parameter(const Loss& loss);

// Nothing if no loss has that name, or if its parameter is missing, superfluous or out of range.
std::optional<Loss> parse_loss(std::string_view name);

// All names, with "huber:D" and "beta:B" for those with a parameter.
std::vector<std::string> loss_names();

// For messages: "D is above 0, B is neither 0 nor 1".
std::string loss_parameter_ranges();

}  // namespace blco
