// The best model that says the same of every cell: what a fit starts from, and has to beat.
#pragma once

#include <blco/tensor.hpp>
#include <string>

#include "blco/loss.hpp"
#include "engine/common/progress_meter.hpp"

namespace blco {

double count_cells(const TensorSummary& tensor);

struct ConstantModel {
  double value = 0;      // what it says of each cell
  double objective = 0;  // over all cells
  double least = 0;      // the objective of a model that says of each cell what suits it best

  double deviance() const { return objective - least; }
  // The share of the deviance that a model of that objective explains, at most 1.
  double explained(double of_model) const;
};

// Of the values divided by 2^value_exponent, in whose unit `loss` is. Reads all of them, unless each is 1; those of
// huber several times. Memory and errors are those of check_values, to which `demand` goes for a value that the loss
// does not take.
ConstantModel find_constant_model(const Tensor& tensor, const Loss& loss, int value_exponent, const std::string& demand,
                                  ProgressMeter& meter);

}  // namespace blco
