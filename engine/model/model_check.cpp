#include "engine/model/model_check.hpp"

#include <cstddef>
#include <cstdint>

namespace blco {

void check_sizes(const CpdModel& model, const std::string& failure) {
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) refuse(failure + ": " + what);
  };
  require(model.rank >= 1 && model.weights.size() == static_cast<std::size_t>(model.rank),
          "it does not have one weight per component");
  require(!model.shape.empty() && model.factors.size() == model.shape.size(), "it does not have one factor per mode");
  require(model.mode_names.empty() || model.mode_names.size() == model.shape.size(),
          "it does not have one name per mode");
  require(model.labels.empty() || model.labels.size() == model.shape.size(),
          "it does not have one list of labels per mode");
  const auto rank = static_cast<std::uint64_t>(model.rank);
  for (std::size_t n = 0; n < model.factors.size(); ++n) {
    require(model.factors[n].size() % rank == 0 && model.factors[n].size() / rank == model.shape[n],
            "the size of factor " + std::to_string(n) + " is not the length of its mode times the rank");
    require(model.labels.empty() || model.labels[n].empty() || model.labels[n].size() == model.shape[n],
            "a mode does not have one label per index");
  }
}

}  // namespace blco
