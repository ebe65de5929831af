// The serial reference: plain loops over coordinates, the oracle of every other backend.
#pragma once

#include <memory>

#include "kernels/backend.hpp"

namespace blco {

// Computes in f64 whatever config.precision says, but rounds factors to f32 for Precision::mixed; makes no private
// copies.
std::unique_ptr<Backend> make_reference_backend(const BackendConfig& config);

}  // namespace blco
