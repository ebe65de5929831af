#include "engine/fit/methods/carried_weights.hpp"

namespace blco {

void CarriedWeights::carry(Backend& backend, int mode, std::uint64_t length, std::span<const double> weights) {
  backend_ = &backend;
  mode_ = mode;
  rows_.resize(static_cast<std::size_t>(length) * weights.size());
  backend.store_factor(mode, 0, rows_);
  std::vector<double> scaled = rows_;
  for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i] *= weights[i % weights.size()];
  backend.load_factor(mode, 0, scaled);
}

void CarriedWeights::put_down() {
  if (mode_ < 0) return;
  backend_->load_factor(mode_, 0, rows_);
  mode_ = -1;
}

}  // namespace blco
