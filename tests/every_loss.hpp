// Every loss that has a name, so that a new one is tested too.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "blco/loss.hpp"

namespace blco {

// Those with a parameter get this one.
inline std::vector<Loss> losses_by_name(double parameter) {
  std::vector<Loss> losses;
  for (const std::string& name : loss_names()) {
    const std::size_t colon = name.find(':');
    const std::string number = colon == std::string::npos ? "" : ":" + std::to_string(parameter);
    const std::optional<Loss> loss = parse_loss(name.substr(0, colon) + number);
    if (!loss) throw std::runtime_error(name + " does not take " + number);
    losses.push_back(*loss);
  }
  return losses;
}

}  // namespace blco
