// The options of blco-cpd that choose a method and set it up.
#pragma once

#include <blco/cpd.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/programs/cli.hpp"

namespace blco::cli {

// As given; modes are found once the tensor is open.
struct MethodArguments {
  enum class Method { als, apr, gcp, complete };

  Method method = Method::als;
  std::vector<std::string> given = {};  // options that belong to one method, in order
  Loss loss = {};
  std::optional<std::string> nonnegative;  // modes; empty: all
  std::optional<std::string> simplex;
  std::optional<std::string> box;  // LO:HI, then :MODES if not all
  double l1 = 0;
  AprMethod apr = {};
  GcpMethod gcp = {};
  CompletionMethod completion = {};
  std::filesystem::path validation;
  std::optional<double> tolerance;
};

// Those that CpdOptions has for several methods go into `cpd`.
void add_method_options(CommandLine& line, MethodArguments& arguments, CpdOptions& cpd);

// Puts the method into `options`. `validation` is the tensor of --validate, or null. Throws Error{invalid_argument} for
// options of another method, and for modes that the tensor does not have.
void set_method(const MethodArguments& arguments, const TensorSummary& tensor, const Tensor* validation,
                CpdOptions& options);

}  // namespace blco::cli
