// Which option belongs to which method, and what becomes of them once the tensor is open.
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "tools/programs/cpd_program.hpp"
#include "tools/programs/mode_constraints.hpp"

namespace blco::cli {
namespace {

using Owner = std::pair<const char*, std::string_view>;
constexpr Owner owners[] = {
    {"--simplex", "als"},       {"--box", "als"},          {"--l1", "als"},           {"--inner", "apr"},
    {"--kappa", "apr"},         {"--evaluations", "gcp"},  {"--samples", "gcp-adam"}, {"--learning-rate", "gcp-adam"},
    {"--cg-steps", "complete"}, {"--validate", "complete"}};

// `method` is what --method gcp comes to for this loss and tensor.
void check_owners(const CommandLine& line, const std::string& method, const Loss& loss) {
  for (const auto& [option, owner] : owners) {
    if (!line.has(option) || owner == method) continue;
    if (owner == "gcp" && method == "gcp-adam") {
      refuse(fmt::format(
          "{} does not apply: loss {} is fitted to this tensor by gcp-adam, over sampled cells; leave {} out", option,
          to_string(loss), option));
    }
    refuse(fmt::format("{} belongs to --method {}, not to {}", option, owner, method));
  }
  if (line.has("--loss") && !method.starts_with("gcp")) {
    refuse("--loss belongs to --method gcp and gcp-adam, not to " + method);
  }
  if (line.has("--nonnegative") && method == "apr") {
    refuse("--nonnegative does not go with --method apr, whose factors are never negative; leave it out");
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

std::vector<RowConstraint> constraints_of(const CpdArguments& arguments, const TensorSummary& tensor) {
  if (!arguments.held && !arguments.nonnegative && !arguments.simplex && !arguments.box && arguments.l1 <= 0) {
    return arguments.constraints;
  }
  std::vector<RowConstraint> constraints;
  if (arguments.held) constrain("--hold", *arguments.held, tensor, {.set = RowSet::held}, constraints);
  if (arguments.nonnegative) {
    constrain("--nonnegative", *arguments.nonnegative, tensor, {.set = RowSet::nonnegative}, constraints);
  }
  if (arguments.simplex) constrain("--simplex", *arguments.simplex, tensor, {.set = RowSet::simplex}, constraints);
  if (arguments.box) add_box(*arguments.box, tensor, constraints);
  if (arguments.l1 > 0) {
    constraints.resize(tensor.shape.size());
    for (RowConstraint& constraint : constraints) constraint.l1 = constraint.is_held() ? 0 : arguments.l1;
  }
  return constraints;
}

void take_from_resumed(const CommandLine& line, CpdArguments& arguments) {
  const CpdOptions resumed = options_of_model(arguments.cpd.resume);
  if (!line.has("--method")) arguments.method = name_of(resumed.method);
  if (!line.has("--ridge")) arguments.cpd.ridge = resumed.ridge;
  if (!line.has("--momentum")) arguments.cpd.momentum = resumed.momentum;
  if (!line.has("--precision")) arguments.cpd.compute.precision = resumed.compute.precision;
  std::visit(
      [&](const auto& method) {
        if constexpr (requires { method.loss; }) {
          if (!line.has("--loss")) arguments.gcp.loss = method.loss;
        }
        if constexpr (requires { method.constraints; }) arguments.constraints = method.constraints;
      },
      resumed.method);
}

double parse_positive(const std::string& word) {
  const double number = parse_real(word);
  if (!(number > 0)) refuse("must be above 0");
  return number;
}

void add_constraints(CommandLine& line, CpdArguments& arguments) {
  const auto add_modes = [&](const std::string& name, std::optional<std::string>& modes, const std::string& what) {
    line.add(
        name, [&modes](const std::string& word) { modes = word; }, {"[MODES]", what}, Takes::one_word_or_none);
  };
  add_modes("--nonnegative", arguments.nonnegative,
            "Keep the factors of these modes at 0 or above; with --method als by HALS. MODES are names or numbers from "
            "0, separated by commas; without MODES all modes");
  add_modes("--simplex", arguments.simplex,
            "Keep each row of these modes' factors at 0 or above with the sum 1: shares of the components (AO-ADMM)");
  line.add("--box", [&](const std::string& word) { arguments.box = word; },
           {"LO:HI[:MODES]",
            "Keep the entries of these modes' factors between LO and HI (AO-ADMM); without :MODES those of all modes"});
  line.add(
      "--hold", [&](const std::string& word) { arguments.held = word; },
      {"MODES",
       "With --init: keep the factors of these modes as they are in that model. With all modes but one held, the fit "
       "finds the rows of new data in the old model"});
  line.add("--l1", arguments.l1, parse_positive,
           {"X",
            "Add X times the sum of the factors' absolute entries to what is minimised, so that many entries become 0. "
            "The values are divided by a power of two before, which brings them near 1"});
}

// Of the methods other than least squares.
void add_own_options(CommandLine& line, CpdArguments& arguments) {
  line.begin_group("With --method apr");
  line.add_whole("--inner", arguments.apr.inner_iterations, 1,
                 {"N", "Most updates of a mode in a sweep; each update takes a pass"});
  line.add_real(
      "--kappa", arguments.apr.kappa,
      "Added to inadmissible zeros: entries of a factor that are 0 although the objective would fall if they grew");
  line.begin_group("With --method gcp or gcp-adam");
  line.add("--loss", arguments.gcp.loss, parse_loss_name, {"LOSS", "What a cell costs: " + loss_choices(), "gaussian"});
  line.begin_group("With --method gcp");
  line.add_whole("--evaluations", arguments.gcp.evaluations, 1,
                 {"N", "Most evaluations of the objective in a sweep; each evaluation takes a pass"});
  line.begin_group("With --method gcp-adam");
  line.add("--learning-rate", arguments.adam.learning_rate, parse_positive,
           {"X", "Size of a step at the start, as a share of a column's root mean square",
            fmt::format("{}", arguments.adam.learning_rate)});
  line.add("--samples", arguments.adam.sampled_zeros,
           [](const std::string& word) { return parse_whole(word, 1, std::uint64_t{1} << 24); },
           {"N", "Zeros that a step samples", "as many as it has nonzeros"});
  line.begin_group("With --method complete");
  line.add_whole("--cg-steps", arguments.completion.cg_steps, 1,
                 {"N", "Steps of conjugate gradients per mode and sweep; each step takes a pass"});
  line.add_path("--validate", arguments.validation,
                {"FILE",
                 "A container of held-out entries, of the same shape and labels. blco-ingest makes it with "
                 "--held-out-to, or from another file with --labels-from the tensor (tables) or --shape. The fit stops "
                 "when the error over these entries has risen twice in a row, and keeps the model with the smallest "
                 "error"});
}

void add_momentum(CommandLine& line, CpdOptions& cpd) {
  line.add_choice<std::optional<bool>>(
      "--momentum", cpd.momentum, {{"on", true}, {"off", false}},
      "Once sweeps have slowed down, start each sweep ahead of the model, on the line from the model before. A sweep "
      "that ends with a worse model is undone (restart). A fit then takes fewer sweeps, and one more copy of the "
      "factors. Momentum goes with no other constraint than --nonnegative. Without this option it is on where it "
      "goes; with --resume, as the checkpoint has it");
}

}  // namespace

void add_tolerance(CommandLine& line, CpdOptions& cpd) {
  line.add("--tolerance", [&](const std::string& word) { cpd.tolerance = parse_real(word); },
           {"X",
            "Stop when a sweep gains less than X: of the fit (als), of the best constant model's deviance (gcp, "
            "gcp-adam), of the root of the objective, as a share (complete); or when no entry of a factor has a KKT "
            "violation above X (apr)",
            fmt::format("{}, apr: {}, complete: {}", tolerance_of({}), tolerance_of({.method = AprMethod()}),
                        tolerance_of({.method = CompletionMethod()}))});
}

void add_method_options(CommandLine& line, CpdArguments& arguments) {
  CpdOptions& cpd = arguments.cpd;
  line.begin_group("What is fitted");
  line.add_choice<std::string>(
      "--method", arguments.method,
      {{"als", "als"}, {"apr", "apr"}, {"gcp", "gcp"}, {"gcp-adam", "gcp-adam"}, {"complete", "complete"}},
      "als: least squares over all cells. apr: counts, by Poisson's likelihood and multiplicative updates. gcp: any "
      "of the losses of --loss, over all cells. gcp-adam: the same over sampled cells; gcp does that too where there "
      "are over 262144 cells, unless all are listed or the loss is gaussian or poisson. complete: least squares over "
      "the entries alone, as other cells are unknown");
  add_constraints(line, arguments);
  line.begin_group("With --method als");
  add_momentum(line, cpd);
  line.add(
      "--ridge", [&](const std::string& word) { cpd.ridge = parse_real(word); },
      {"X",
       "Add X times the sum of the squared weights to what is minimised, so that components do not grow against each "
       "other. The weight of a component that stands alone is divided by 1 + X: 0.01 to 0.1 will do. With --method "
       "complete: add the squares of all factors' entries, times X and a power of the values' size, so that X does not "
       "depend on their unit",
       "0; complete: found from held-out entries, those of --validate or some that the fit holds back where rows have "
       "few entries"});
  add_own_options(line, arguments);
}

void set_method(const CommandLine& line, CpdArguments& arguments, const TensorSummary& tensor,
                const Tensor* validation) {
  if (!arguments.cpd.resume.empty()) take_from_resumed(line, arguments);
  if (arguments.method == "gcp") arguments.method = name_of(fitted_method(tensor, arguments.gcp));
  check_owners(line, arguments.method, arguments.gcp.loss);
  arguments.adam.loss = arguments.gcp.loss;
  arguments.completion.validation = validation;
  CpdMethod& method = arguments.cpd.method;
  method = AlsMethod();
  if (arguments.method == "apr") method = arguments.apr;
  if (arguments.method == "gcp") method = arguments.gcp;
  if (arguments.method == "gcp-adam") method = arguments.adam;
  if (arguments.method == "complete") method = arguments.completion;
  std::visit([&](auto& chosen) { chosen.constraints = constraints_of(arguments, tensor); }, method);
}

}  // namespace blco::cli
