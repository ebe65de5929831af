// Of a model in memory: whether its parts agree, which a caller may have put together by hand, and its file header, for
// writers that keep the factors elsewhere.
#pragma once

#include <blco/model.hpp>
#include <blco/tucker_model.hpp>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/container/model_file.hpp"

namespace blco {

// What does not suit shape and rank, in words: the numbers of weights, factors, names, labels or constraints. Empty:
// nothing. Whatever takes a model asks this before it reads a number of it.
std::string size_fault(const CpdModel& model);
// Of core, matrices, names and labels; a fit that starts from the matrices needs no core.
std::string size_fault(const TuckerModel& model, bool has_core = true);
// Throws Error{invalid_argument} for such a fault, which begins with `failure`, such as "cannot export the model".
void check_sizes(const CpdModel& model, const std::string& failure);
void check_sizes(const TuckerModel& model, const std::string& failure);

// What a file says of the model beside factors and core.
ModelFile describe_model(const CpdModel& model);
ModelFile describe_model(const TuckerModel& model);
// The other way round, without factors, core and labels.
CpdModel without_factors(const ModelFile& file);
// As save(), under the caller's claim of the file; null: it has none.
void save_claimed(const CpdModel& model, const std::filesystem::path& path, const OutputClaim* claim);
void save_claimed(const TuckerModel& model, const std::filesystem::path& path, const OutputClaim* claim);
// The entries of largest magnitude in a column of a row-major matrix, as CpdModel::top() has them.
std::vector<FactorEntry> largest_of_column(const std::vector<double>& matrix, std::size_t columns, std::size_t column,
                                           std::size_t count);
// Throws Error{invalid_argument} unless `cell` has an index within each mode of `shape`.
void check_cell(const std::vector<std::uint64_t>& shape, std::span<const std::uint64_t> cell);

}  // namespace blco
