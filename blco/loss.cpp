// Names of losses.
#include "blco/loss.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace blco {
namespace {

struct LossName {
  LossKind kind;
  std::string_view name;
  char parameter;  // its letter, or 0
};

constexpr std::array names = {
    LossName{LossKind::gaussian, "gaussian", 0},
    LossName{LossKind::poisson, "poisson", 0},
    LossName{LossKind::poisson_log, "poisson-log", 0},
    LossName{LossKind::bernoulli_odds, "bernoulli-odds", 0},
    LossName{LossKind::bernoulli_logit, "bernoulli-logit", 0},
    LossName{LossKind::gamma, "gamma", 0},
    LossName{LossKind::rayleigh, "rayleigh", 0},
    LossName{LossKind::huber, "huber", 'D'},
    LossName{LossKind::beta, "beta", 'B'},
};

bool is_legal(const Loss& loss) {
  if (!std::isfinite(loss.parameter)) return false;
  if (loss.kind == LossKind::huber) return loss.parameter > 0;
  if (loss.kind == LossKind::beta) return loss.parameter != 0 && loss.parameter != 1;
  return true;
}

}  // namespace

std::string to_string(const Loss& loss) {
  for (const LossName& name : names) {
    if (name.kind != loss.kind) continue;
    std::string text(name.name);
    if (name.parameter == 0) return text;
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), loss.parameter).ptr;
    return text.append(":").append(digits.data(), end);
  }
  return "gaussian";
}

std::optional<Loss> parse_loss(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (const LossName& name : names) {
    if (text.substr(0, colon) != name.name) continue;
    if ((name.parameter != 0) != (colon != std::string_view::npos)) return std::nullopt;
    Loss loss{name.kind, 0};
    if (name.parameter == 0) return loss;
    const std::string_view number = text.substr(colon + 1);
    const auto [end, failure] = std::from_chars(number.data(), number.data() + number.size(), loss.parameter);
    if (failure != std::errc() || end != number.data() + number.size() || !is_legal(loss)) return std::nullopt;
    return loss;
  }
  return std::nullopt;
}

std::vector<std::string> loss_names() {
  std::vector<std::string> all;
  for (const LossName& name : names) {
    all.emplace_back(name.name);
    if (name.parameter != 0) all.back().append(":").push_back(name.parameter);
  }
  return all;
}

}  // namespace blco
