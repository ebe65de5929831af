// What a CP or Tucker model, in memory or in its file, says of itself beside its numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "blco/input_reading.hpp"
#include "blco/kernel_choice.hpp"
#include "blco/labels.hpp"
#include "blco/loss.hpp"
#include "blco/row_constraint.hpp"
#include "blco/stop_reason.hpp"

namespace blco {

struct ModelHeader {
  std::vector<std::uint64_t> shape;
  std::string method = "als";                   // by its name: see CpdMethod and TuckerMethod
  Loss loss = {};                               // what the method minimises
  std::vector<RowConstraint> constraints = {};  // of each mode; empty: none
  std::vector<double> fit_history;              // als, hooi, hoqri: fit after each sweep: 1 - |X - model| / |X|
  std::vector<double> objective_history = {};   // other methods: what they minimise, after each sweep
  std::optional<double> explained = {};         // SweepReport::explained
  std::vector<std::string> mode_names;
  std::vector<Labels> labels = {};  // per mode one label per coordinate, or none; empty: no mode has labels
  InputReading reading = {};        // of the tensor's input
  std::uint64_t seed = 0;
  Precision precision = Precision::f64;
  double ridge = 0;                        // CpdOptions::ridge of the fit; -1: automatic
  std::vector<std::string> options = {};   // of the method, those that are not the defaults: "inner=3"
  std::optional<double> found_ridge = {};  // what an automatic one of CompletionMethod came to; 0: none
  StopReason stop_reason = StopReason::sweeps;
  // The tensor that the model was fitted to; zero if unknown.
  std::uint64_t tensor_nnz = 0;
  double tensor_sum_of_squares = 0;

  ModelHeader& header() { return *this; }
  const ModelHeader& header() const { return *this; }
  double fit() const { return fit_history.empty() ? 0.0 : fit_history.back(); }
  double objective() const { return objective_history.empty() ? 0.0 : objective_history.back(); }
  std::size_t sweeps() const { return fit_history.empty() ? objective_history.size() : fit_history.size(); }
};

// What does not suit the shape, in words: its modes, names, constraints or labels. Empty: nothing.
std::string header_fault(const ModelHeader& header);
// Same of row-major factors, that of mode n having columns[n] columns.
std::string factor_fault(const ModelHeader& header, std::span<const std::uint64_t> columns,
                         std::span<const std::vector<double>> factors);

}  // namespace blco
