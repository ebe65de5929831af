// Names of losses.
#include "blco/loss.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "blco/in_full.hpp"
#include "blco/option_name.hpp"
#include "blco/refuse.hpp"

namespace blco {
namespace {

bool is_positive(double parameter) { return parameter > 0; }
bool is_neither_0_nor_1(double parameter) { return parameter != 0 && parameter != 1; }

struct LossName {
  LossKind kind;
  std::string_view name;
  char parameter = 0;           // its letter, or 0: none
  const char* range = nullptr;  // of the parameter, in words
  bool (*is_legal)(double) = nullptr;
};

constexpr std::array names = {
    LossName{LossKind::gaussian, "gaussian"},
    LossName{LossKind::poisson, "poisson"},
    LossName{LossKind::poisson_log, "poisson-log"},
    LossName{LossKind::bernoulli_odds, "bernoulli-odds"},
    LossName{LossKind::bernoulli_logit, "bernoulli-logit"},
    LossName{LossKind::gamma, "gamma"},
    LossName{LossKind::rayleigh, "rayleigh"},
    LossName{LossKind::huber, "huber", 'D', "above 0", is_positive},
    LossName{LossKind::beta, "beta", 'B', "neither 0 nor 1", is_neither_0_nor_1},
};

// `kind` must be one of LossKind.
const LossName& name_of(LossKind kind) { return *std::ranges::find(names, kind, &LossName::kind); }

}  // namespace

std::string to_string(const Loss& loss) {
  const LossName& name = name_of(loss.kind);
  const std::string text(name.name);
  return name.parameter == 0 ? text : text + ":" + in_full(loss.parameter);
}

bool is_valid(const Loss& loss) {
  const auto name = std::ranges::find(names, loss.kind, &LossName::kind);
  if (name == names.end()) return false;
  return name->parameter == 0 || (std::isfinite(loss.parameter) && name->is_legal(loss.parameter));
}

void check_parameter(const Loss& loss) {
  if (is_valid(loss)) return;
  refuse("the parameter of " + option_name("loss", to_string(loss)) + " is out of range: " + loss_parameter_ranges());
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
    if (failure != std::errc() || end != number.data() + number.size() || !is_valid(loss)) return std::nullopt;
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

std::string loss_parameter_ranges() {
  std::string text;
  for (const LossName& name : names) {
    if (name.parameter == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(1, name.parameter) + " is " + name.range;
  }
  return text;
}

}  // namespace blco
