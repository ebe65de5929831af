// Of a model in memory: whether its parts agree, which a caller may have put together by hand, and its file header, for
// writers that keep the factors elsewhere.
#pragma once

#include <blco/model.hpp>
#include <blco/tucker_model.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/container/model_file.hpp"
#include "io/container/tucker_file.hpp"

namespace blco {

// What does not suit shape and rank, in words: the numbers of weights, factors, names, labels or constraints. Empty:
// nothing. Whatever takes a model asks this before it reads a number of it.
std::string size_fault(const CpdModel& model);
// Of core, matrices, names and labels; a fit that starts from the matrices needs no core.
std::string size_fault(const TuckerModel& model, bool has_core = true);
// Throws Error{invalid_argument} for such a fault, which begins with `failure`, such as "cannot export the model".
void check_sizes(const CpdModel& model, const std::string& failure);
void check_sizes(const TuckerModel& model, const std::string& failure);

ModelFile describe_model(const CpdModel& model);
// The other way round, without factors and labels.
CpdModel without_factors(const ModelFile& file);
// A Tucker model as what is written of it, and back; numbers and labels are moved.
TuckerFile to_file(TuckerModel model);
TuckerModel to_model(TuckerFile file);
StopReason parse_stop_reason(std::string_view text);
// The entries of largest magnitude in a column of a row-major matrix, as CpdModel::top() has them.
std::vector<FactorEntry> largest_of_column(const std::vector<double>& matrix, std::size_t columns, std::size_t column,
                                           std::size_t count);
// Throws Error{invalid_argument} unless `cell` has an index within each mode of `shape`.
void check_cell(const std::vector<std::uint64_t>& shape, std::span<const std::uint64_t> cell);
// As a model file has them: one per mode, empty where no mode has a constraint.
std::vector<std::string> to_strings(const std::vector<RowConstraint>& constraints);

}  // namespace blco
