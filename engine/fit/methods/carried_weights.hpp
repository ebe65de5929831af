// The model's weights within a factor, while a mode is updated that must not take them up itself.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/backend.hpp"

namespace blco {

// A mode whose columns keep their scale fits the model's weights only if they belong to another mode meanwhile.
class CarriedWeights {
 public:
  // Multiplies the columns of a mode's factor, of I_n x R, by the weights. `backend` must outlive the object.
  void carry(Backend& backend, int mode, std::uint64_t length, std::span<const double> weights);
  // Gives the mode its factor back, bit for bit. Does nothing if no mode carries the weights.
  void put_down();

 private:
  Backend* backend_ = nullptr;
  int mode_ = -1;  // that carries them; -1: none
  std::vector<double> rows_;
};

}  // namespace blco
