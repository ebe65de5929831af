// Each option of one method notes that it was given, so that it can be refused with another.
#include "tools/programs/cpd_methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <blco/evaluate.hpp>
#include <string_view>
#include <utility>

namespace blco::cli {
namespace {

using Method = MethodArguments::Method;

constexpr std::array<std::pair<std::string_view, Method>, 12> owners{{
    {"--nonnegative", Method::als},
    {"--l1", Method::als},
    {"--box", Method::als},
    {"--simplex", Method::als},
    {"--inner", Method::apr},
    {"--kappa", Method::apr},
    {"--loss", Method::gcp},
    {"--evaluations", Method::gcp},
    {"--learning-rate", Method::gcp},
    {"--samples", Method::gcp},
    {"--cg-steps", Method::complete},
    {"--validate", Method::complete},
}};

const char* word_of(Method method) {
  switch (method) {
    case Method::apr:
      return "apr";
    case Method::gcp:
      return "gcp";
    case Method::complete:
      return "complete";
    case Method::als:
      break;
  }
  return "als";
}

void check_owners(const MethodArguments& arguments) {
  for (const std::string& option : arguments.given) {
    const auto* const owner =
        std::ranges::find(owners, std::string_view(option), [](const auto& o) { return o.first; });
    if (owner == owners.end() || owner->second == arguments.method) continue;
    refuse(
        fmt::format("{} belongs to --method {}, not to {}", option, word_of(owner->second), word_of(arguments.method)));
  }
}

// L-BFGS and Adam have options of their own.
void check_optimizer(const MethodArguments& arguments) {
  const bool is_exact = sums_over_zeros(arguments.loss);
  for (const std::string& option : arguments.given) {
    const bool is_of_exact = option == "--evaluations";
    const bool is_of_sampled = option == "--learning-rate" || option == "--samples";
    if (is_exact ? is_of_sampled : is_of_exact) {
      refuse(fmt::format("{} does not apply to --loss {}, which is fitted by {}", option, to_string(arguments.loss),
                         is_exact ? "L-BFGS on all cells; leave it out" : "Adam on sampled cells; leave it out"));
    }
  }
}

std::vector<std::size_t> modes_of(const std::string& list, const TensorSummary& tensor) {
  std::vector<std::size_t> modes;
  if (list.empty()) {
    for (std::size_t n = 0; n < tensor.shape.size(); ++n) modes.push_back(n);
    return modes;
  }
  for (const std::string& name : parse_names(list)) modes.push_back(find_mode(tensor, name));
  return modes;
}

void constrain(const std::string& option, const std::string& list, const TensorSummary& tensor,
               const RowConstraint& wanted, std::vector<RowConstraint>& constraints) {
  constraints.resize(tensor.shape.size());
  for (const std::size_t mode : modes_of(list, tensor)) {
    if (constraints[mode].set != RowSet::all) {
      refuse(
          fmt::format("{}: mode {} has another constraint already; give each mode one of --nonnegative, --box and "
                      "--simplex",
                      option, mode));
    }
    constraints[mode].set = wanted.set;
    constraints[mode].lower = wanted.lower;
    constraints[mode].upper = wanted.upper;
  }
}

void add_box(const std::string& text, const TensorSummary& tensor, std::vector<RowConstraint>& constraints) {
  const std::size_t first = text.find(':');
  if (first == std::string::npos) refuse("--box: '" + text + "' is not LO:HI, such as 0:1");
  const std::size_t second = text.find(':', first + 1);
  RowConstraint box{.set = RowSet::box};
  box.lower = parse_signed(text.substr(0, first));
  box.upper = parse_signed(text.substr(first + 1, second == std::string::npos ? second : second - first - 1));
  constrain("--box", second == std::string::npos ? "" : text.substr(second + 1), tensor, box, constraints);
}

std::vector<RowConstraint> constraints_of(const MethodArguments& arguments, const TensorSummary& tensor) {
  std::vector<RowConstraint> constraints;
  if (arguments.nonnegative) {
    constrain("--nonnegative", *arguments.nonnegative, tensor, {.set = RowSet::nonnegative}, constraints);
  }
  if (arguments.simplex) constrain("--simplex", *arguments.simplex, tensor, {.set = RowSet::simplex}, constraints);
  if (arguments.box) add_box(*arguments.box, tensor, constraints);
  if (arguments.l1 > 0) {
    constraints.resize(tensor.shape.size());
    for (RowConstraint& constraint : constraints) constraint.l1 = arguments.l1;
  }
  return constraints;
}

// Adds an option that only one method has.
template <class Assign>
void add_own(CommandLine& line, MethodArguments& arguments, const std::string& name, const Assign& assign,
             const OptionText& text) {
  line.add(
      name,
      [&arguments, name, assign](const std::string& word) {
        assign(word);
        arguments.given.push_back(name);
      },
      text);
}

double parse_positive(const std::string& word) {
  const double number = parse_real(word);
  if (!(number > 0)) refuse("must be above 0");
  return number;
}

int parse_count(const std::string& word) { return static_cast<int>(parse_whole(word, 1, 1'000'000)); }

void add_constraints(CommandLine& line, MethodArguments& arguments) {
  const auto add_modes = [&](const std::string& name, std::optional<std::string>& modes, const std::string& what) {
    line.add_optional(name,
                      [&arguments, &modes, name](const std::string& word) {
                        modes = word;
                        arguments.given.push_back(name);
                      },
                      {.type = "[MODES]", .description = what});
  };
  add_modes("--nonnegative", arguments.nonnegative,
            "Keep the factors of these modes at 0 or above (HALS); modes by name or number from 0, separated by "
            "commas; all without MODES");
  add_modes("--simplex", arguments.simplex,
            "Keep each row of these modes' factors at 0 or above with the sum 1: shares of the components (AO-ADMM)");
  add_own(line, arguments, "--box", [&](const std::string& word) { arguments.box = word; },
          {.type = "LO:HI[:MODES]",
           .description = "Keep the entries of these modes' factors between LO and HI (AO-ADMM); all modes without "
                          ":MODES"});
  add_own(line, arguments, "--l1", [&](const std::string& word) { arguments.l1 = parse_positive(word); },
          {.type = "X",
           .description = "Add X times the sum of the factors' absolute entries to what is minimised, so that many "
                          "become 0"});
}

void add_loss_options(CommandLine& line, MethodArguments& arguments) {
  add_own(line, arguments, "--loss", [&](const std::string& word) { arguments.loss = parse_loss_name(word); },
          {.type = loss_choices(), .description = "With --method gcp: what a cell costs", .fallback = "gaussian"});
  add_own(line, arguments, "--evaluations",
          [&](const std::string& word) { arguments.gcp.evaluations = parse_count(word); },
          {.type = "N",
           .description = "With --method gcp and gaussian or poisson: evaluations of a sweep, each one pass",
           .fallback = std::to_string(arguments.gcp.evaluations)});
  add_own(line, arguments, "--learning-rate",
          [&](const std::string& word) { arguments.gcp.learning_rate = parse_positive(word); },
          {.type = "X",
           .description = "With --method gcp and other losses: step size of Adam at the start",
           .fallback = fmt::format("{}", arguments.gcp.learning_rate)});
  add_own(line, arguments, "--samples",
          [&](const std::string& word) { arguments.gcp.sampled_zeros = parse_whole(word, 1, std::uint64_t{1} << 24); },
          {.type = "N",
           .description = "With --method gcp and other losses: zeros that a step of Adam samples",
           .fallback = "as many as it has nonzeros"});
}

void add_apr_options(CommandLine& line, MethodArguments& arguments) {
  add_own(line, arguments, "--inner",
          [&](const std::string& word) { arguments.apr.inner_iterations = parse_count(word); },
          {.type = "N",
           .description = "With --method apr: updates of a mode in a sweep, at most; each takes a pass",
           .fallback = std::to_string(arguments.apr.inner_iterations)});
  add_own(line, arguments, "--kappa", [&](const std::string& word) { arguments.apr.kappa = parse_real(word); },
          {.type = "X",
           .description = "With --method apr: added to zeros of the factors that ought to grow",
           .fallback = fmt::format("{}", arguments.apr.kappa)});
}

void add_completion_options(CommandLine& line, MethodArguments& arguments) {
  add_own(line, arguments, "--cg-steps",
          [&](const std::string& word) { arguments.completion.cg_steps = parse_count(word); },
          {.type = "N",
           .description = "With --method complete: steps of conjugate gradients per mode and sweep, each one pass",
           .fallback = std::to_string(arguments.completion.cg_steps)});
  add_own(
      line, arguments, "--validate", [&](const std::string& word) { arguments.validation = word; },
      {.type = "FILE",
       .description = "With --method complete: a container of held-out entries, of the same shape; the fit stops when "
                      "their error has risen twice, and keeps the model of the least"});
}

}  // namespace

void add_method_options(CommandLine& line, MethodArguments& arguments, CpdOptions& cpd) {
  line.add(
      "--tolerance", [&](const std::string& word) { arguments.tolerance = parse_real(word); },
      {.type = "X",
       .description = "Stop when a sweep changes the fit by less than X; gcp: the objective, complete: the error over "
                      "the entries, relatively; apr: when no number of a factor violates the optimality conditions by "
                      "X",
       .fallback = fmt::format("{}, apr: {}", cpd.tolerance, AprMethod{}.kkt_tolerance)});
  line.add_choice<Method>(
      "--method", arguments.method,
      {{"als", Method::als}, {"apr", Method::apr}, {"gcp", Method::gcp}, {"complete", Method::complete}},
      "What is fitted: least squares (als); counts by Poisson's likelihood and multiplicative updates (apr); any of "
      "the losses of --loss (gcp); least squares over the entries alone, cells that are not listed being unknown "
      "(complete)");
  add_constraints(line, arguments);
  add_apr_options(line, arguments);
  add_loss_options(line, arguments);
  add_completion_options(line, arguments);
  line.add_real("--ridge", cpd.ridge,
                "With --method als or complete: add X times the sum of the squared weights to what is minimised, so "
                "that components do not grow against each other; a component that stands alone has its weight divided "
                "by 1 + X, so 0.01 to 0.1 will do");
}

void set_method(const MethodArguments& arguments, const TensorSummary& tensor, const Tensor* validation,
                CpdOptions& options) {
  check_owners(arguments);
  if (arguments.tolerance) options.tolerance = *arguments.tolerance;
  switch (arguments.method) {
    case Method::als:
      options.method = AlsMethod{constraints_of(arguments, tensor)};
      break;
    case Method::apr: {
      AprMethod apr = arguments.apr;
      if (arguments.tolerance) apr.kkt_tolerance = *arguments.tolerance;
      options.method = apr;
      break;
    }
    case Method::gcp: {
      check_optimizer(arguments);
      GcpMethod gcp = arguments.gcp;
      gcp.loss = arguments.loss;
      options.method = gcp;
      break;
    }
    case Method::complete: {
      CompletionMethod completion = arguments.completion;
      completion.validation = validation;
      options.method = completion;
      break;
    }
  }
}

}  // namespace blco::cli
