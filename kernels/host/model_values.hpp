// The model's values at decoded nonzeros: m = sum_r prod_n A_n[i_n, r], vectorised along the rank.
#pragma once

#include "kernels/host/mttkrp_rows.hpp"

namespace blco {

// Writes the model's value of each nonzero of `range` to models[0 .. range.count). The factors of `task` are those of
// all modes; its output and values are not used. A value does not depend on how the nonzeros are cut into calls, nor on
// whether they come as rows or as lines.
void model_values(const RowsTask<double>& task, NonzeroRange range, double* models);
void model_values(const RowsTask<float>& task, NonzeroRange range, double* models);
void model_values(const RowsTask<double, float>& task, NonzeroRange range, double* models);

}  // namespace blco
