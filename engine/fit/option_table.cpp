// The rows of the tables.
#include <array>
#include <blco/option_table.hpp>
#include <optional>
#include <type_traits>
#include <utility>

#include "blco/enum_names.hpp"
#include "engine/fit/methods/fit_method.hpp"

namespace blco {
namespace {

// By Start.
constexpr std::array start_names = {"auto", "uniform", "centered", "normal", "nvecs"};

constexpr std::uint64_t any_count = std::numeric_limits<std::uint64_t>::max();

template <class Field>
void put(Field& field, const OptionValue& value) {
  if constexpr (std::is_integral_v<Field> && !std::is_same_v<Field, bool>) {
    field = static_cast<Field>(std::get<std::uint64_t>(value));
  } else {
    field = std::get<Field>(value);
  }
}

template <class Field>
void put(std::optional<Field>& field, const OptionValue& value) {
  put(field.emplace(), value);
}

void put(std::filesystem::path& field, const OptionValue& value) { field = std::get<std::string>(value); }

void put(Precision& field, const OptionValue& value) {
  field = parse_precision(std::get<std::string>(value)).value_or(field);
}

void put(Start& field, const OptionValue& value) {
  field = find_name<Start>(start_names, std::get<std::string>(value)).value_or(field);
}

template <class Field>
OptionValue value_of(const Field& field) {
  if constexpr (std::is_same_v<Field, bool>) {
    return field;
  } else if constexpr (std::is_integral_v<Field>) {
    if (std::cmp_less(field, 0)) return static_cast<double>(field);  // for check_value() to refuse
    return static_cast<std::uint64_t>(field);
  } else {
    return OptionValue(field);
  }
}

template <class Field>
OptionValue value_of(const std::optional<Field>& field) {
  return field ? value_of(*field) : OptionValue();
}

OptionValue value_of(const std::filesystem::path& field) { return field.string(); }
OptionValue value_of(Precision field) { return std::string(to_string(field)); }
OptionValue value_of(Start field) { return std::string(start_names.at(static_cast<std::size_t>(field))); }

template <class Options, class Field>
Option<Options> field_row(OptionRow text, Field Options::*field) {
  return {std::move(text), [field](Options& options, const OptionValue& value) { put(options.*field, value); },
          [field](const Options& options) { return value_of(options.*field); }};
}

template <class Method, class Field>
Option<CpdOptions> method_row(OptionRow text, Field Method::*field) {
  text.methods = {name_of(Method())};
  text.group = "With `method = " + text.methods.front() + "`";
  text.is_kept = true;
  const auto set = [field](CpdOptions& options, const OptionValue& value) {
    if (Method* const method = std::get_if<Method>(&options.method)) put(method->*field, value);
  };
  const auto get = [field](const CpdOptions& options) {
    const Method* const method = std::get_if<Method>(&options.method);
    return method != nullptr ? value_of(method->*field) : value_of(Method().*field);
  };
  return {std::move(text), set, get, true};
}

Option<CpdOptions> compute_row(const Option<Compute>& of_compute) {
  return {of_compute,
          [set = of_compute.set](CpdOptions& options, const OptionValue& value) { set(options.compute, value); },
          [get = of_compute.get](const CpdOptions& options) { return get(options.compute); }};
}

Option<CpdOptions> constraint_row(OptionRow text) {
  text.is_kept = true;
  return {std::move(text)};
}

// The loss and the constraints stay.
void set_method(CpdOptions& options, const OptionValue& value) {
  const std::string& name = std::get<std::string>(value);
  if (name == name_of(options.method)) return;
  CpdMethod method = find_method(name).value();
  std::visit([&](auto& to) { to.constraints = constraints_of(options.method); }, method);
  if (traits_of(options.method).takes_loss) set_loss(method, loss_of(options.method));
  options.method = method;
}

Option<CpdOptions> method_choice() {
  return {{.name = "method",
           .group = "What is fitted",
           .kind = OptionKind::choice,
           .choices = method_names(),
           .is_kept = true,
           .help = "als: least squares over all cells. apr: counts, by Poisson's likelihood and multiplicative "
                   "updates. gcp: any of the losses of `loss`, over all cells. gcp-adam: the same over sampled cells; "
                   "gcp does that too where there are over 262144 cells, unless all are listed or the loss is gaussian "
                   "or poisson. complete: least squares over the entries alone, as other cells are unknown"},
          set_method,
          [](const CpdOptions& options) { return OptionValue(std::string(name_of(options.method))); }};
}

Option<CpdOptions> loss_choice() {
  std::string names;
  for (const std::string& name : loss_names()) names += (names.empty() ? "" : ", ") + name;
  return {{.name = "loss",
           .group = "With `method = gcp` or gcp-adam",
           .kind = OptionKind::loss,
           .methods = {"gcp", "gcp-adam"},
           .word = "LOSS",
           .is_kept = true,
           .help = "What a cell costs: " + names},
          [](CpdOptions& options, const OptionValue& value) {
            if (traits_of(options.method).takes_loss) {
              set_loss(options.method, parse_loss(std::get<std::string>(value)).value());
            }
          },
          [](const CpdOptions& options) {
            return OptionValue(to_string(traits_of(options.method).takes_loss ? loss_of(options.method) : Loss()));
          }};
}

void add_constraints(std::vector<Option<CpdOptions>>& table) {
  table.push_back(
      constraint_row({.name = "nonnegative",
                      .group = "What is fitted",
                      .kind = OptionKind::modes,
                      .word = "[MODES]",
                      .help = "Keep the factors of these modes at 0 or above; with `method = als` by HALS",
                      .syntax = "MODES are names or numbers from 0, separated by commas; without MODES all modes"}));
  table.push_back(constraint_row(
      {.name = "simplex",
       .group = "What is fitted",
       .kind = OptionKind::modes,
       .methods = {"als"},
       .word = "[MODES]",
       .help =
           "Keep each row of these modes' factors at 0 or above with the sum 1: shares of the components (AO-ADMM)"}));
  table.push_back(constraint_row({.name = "box",
                                  .group = "What is fitted",
                                  .kind = OptionKind::box,
                                  .methods = {"als"},
                                  .word = "LO:HI[:MODES]",
                                  .help = "Keep the entries of these modes' factors between two numbers (AO-ADMM)",
                                  .syntax = "Without :MODES those of all modes"}));
  table.push_back(constraint_row(
      {.name = "hold",
       .field = "held",
       .group = "What is fitted",
       .kind = OptionKind::modes,
       .word = "MODES",
       .help =
           "With `initial`: keep the factors of these modes as they are in that model. With all modes but one held, "
           "the fit finds the rows of new data in the old model"}));
  table.push_back(constraint_row(
      {.name = "l1",
       .group = "What is fitted",
       .kind = OptionKind::real,
       .methods = {"als"},
       .word = "X",
       .help = "Add X times the sum of the factors' absolute entries to what is minimised, so that many entries become "
               "0. The values are divided by a power of two before, which brings them near 1"}));
}

void add_methods(std::vector<Option<CpdOptions>>& table) {
  table.push_back(field_row(
      {.name = "momentum",
       .group = "With `method = als`",
       .kind = OptionKind::on_off,
       .methods = {"als"},
       .is_kept = true,
       .help = "Once sweeps have slowed down, start each sweep ahead of the model, on the line from the model "
               "before. A sweep that ends with a worse model is undone (restart). A fit then takes fewer sweeps, "
               "and one more copy of the factors. Momentum goes with no other constraint than `nonnegative`. "
               "Without this option it is on where it goes; with `resume`, as the checkpoint has it"},
      &CpdOptions::momentum));
  table.push_back(field_row(
      {.name = "ridge",
       .group = "With `method = als`",
       .kind = OptionKind::real,
       .methods = {"als", "complete"},
       .word = "X",
       .is_kept = true,
       .help = "Add X times the sum of the squared weights to what is minimised, so that components do not grow "
               "against each other. The weight of a component that stands alone is divided by 1 + X: 0.01 to 0.1 "
               "will do. With `method = complete`: add the squares of all factors' entries, times X and a power of "
               "the values' size, so that X does not depend on their unit",
       .usual = "0; complete: found from held-out entries, those of `validate` or some that the fit holds back "
                "where rows have few entries"},
      &CpdOptions::ridge));
  table.push_back(method_row({.name = "inner",
                              .kind = OptionKind::whole,
                              .word = "N",
                              .least = 1,
                              .help = "Most updates of a mode in a sweep; each update takes a pass"},
                             &AprMethod::inner));
  table.push_back(
      method_row({.name = "kappa",
                  .kind = OptionKind::real,
                  .word = "X",
                  .help = "Added to inadmissible zeros: entries of a factor that are 0 although the objective would "
                          "fall if they grew"},
                 &AprMethod::kappa));
  table.push_back(loss_choice());
  table.push_back(method_row({.name = "evaluations",
                              .kind = OptionKind::whole,
                              .word = "N",
                              .least = 2,
                              .help = "Most evaluations of the objective in a sweep; each evaluation takes a pass"},
                             &GcpMethod::evaluations));
  table.push_back(method_row({.name = "learning_rate",
                              .kind = OptionKind::real,
                              .word = "X",
                              .is_above_least = true,
                              .help = "Size of a step at the start, as a share of a column's root mean square"},
                             &GcpAdamMethod::learning_rate));
  table.push_back(method_row({.name = "samples",
                              .kind = OptionKind::whole,
                              .word = "N",
                              .least = 1,
                              .most = std::uint64_t{1} << 24,
                              .help = "Zeros that a step samples",
                              .usual = "as many as it has nonzeros"},
                             &GcpAdamMethod::samples));
  table.push_back(method_row({.name = "cg_steps",
                              .kind = OptionKind::whole,
                              .word = "N",
                              .least = 1,
                              .help = "Steps of conjugate gradients per mode and sweep; each step takes a pass"},
                             &CompletionMethod::cg_steps));
  Option<CpdOptions> validate = method_row(
      {.name = "validate",
       .field = "validation",
       .kind = OptionKind::tensor,
       .word = "FILE",
       .help = "Held-out entries, of the same shape and labels. The fit stops once 20 sweeps have found no smaller "
               "error over these entries, and keeps the model with the smallest one",
       .syntax = "FILE is a container. blco-ingest makes it with `held_out_to`, or from another file with "
                 "`labels_from` the tensor (tables) or `shape`"},
      &CompletionMethod::validation);
  validate.is_kept = false;
  table.push_back(validate);
}

void add_start_and_end(std::vector<Option<CpdOptions>>& table) {
  table.push_back(field_row({.name = "seed",
                             .group = "How it starts",
                             .kind = OptionKind::whole,
                             .word = "N",
                             .most = any_count,
                             .is_kept = true,
                             .help = "Seed of the random initial factors"},
                            &CpdOptions::seed));
  table.push_back(field_row(
      {.name = "start",
       .group = "How it starts",
       .kind = OptionKind::choice,
       .choices = {start_names.begin(), start_names.end()},
       .help = "Initial factors. uniform: random numbers in [0, 1). centered: random numbers in [-1/2, 1/2). "
               "normal: standard normal numbers. nvecs, for `method = als`: leading singular vectors, sampled "
               "from each mode's unfolding in a pass per mode. auto: uniform"},
      &CpdOptions::start));
  table.push_back(field_row(
      {.name = "initial",
       .flag = "init",
       .group = "How it starts",
       .kind = OptionKind::model,
       .word = "MODEL",
       .help = "Start from the factors of this model, with its rank, instead of random ones. The tensor may have "
               "more indices than the model, such as after blco-ingest `labels_from`. The rows of new indices are "
               "random"},
      &CpdOptions::initial));
  const auto usual_sweeps = [](const CpdMethod& method) { return std::to_string(max_sweeps_of({.method = method})); };
  table.push_back(field_row({.name = "max_sweeps",
                             .flag = "sweeps",
                             .group = "When it stops",
                             .kind = OptionKind::whole,
                             .word = "N",
                             .least = 1,
                             .help = "Maximum number of sweeps, including those of a resumed model",
                             .usual = usual_sweeps(AlsMethod()) + ", complete: " + usual_sweeps(CompletionMethod())},
                            &CpdOptions::max_sweeps));
  table.push_back(field_row(
      {.name = "tolerance",
       .group = "When it stops",
       .kind = OptionKind::real,
       .word = "X",
       .help = "Stop when a sweep gains less than X: of the fit (als), of the best constant model's deviance (gcp, "
               "gcp-adam), of the root of the objective, as a share (complete); or when no entry of a factor has a "
               "KKT violation above X (apr)",
       .usual = "1e-05, apr: 0.0001, complete: 5e-05"},
      &CpdOptions::tolerance));
  table.push_back(field_row({.name = "time_limit",
                             .field = "time_limit_seconds",
                             .group = "When it stops",
                             .kind = OptionKind::seconds,
                             .word = "TIME",
                             .is_above_least = true,
                             .help = "Stop after this time, with the model of the last sweep",
                             .syntax = "TIME is a number of seconds, or has a unit, such as 30m or 2h"},
                            &CpdOptions::time_limit_seconds));
}

void add_checkpoints(std::vector<Option<CpdOptions>>& table) {
  table.push_back(field_row({.name = "checkpoint",
                             .group = "Checkpoints",
                             .kind = OptionKind::path,
                             .word = "FILE",
                             .help = "Also save the model to this file, every K sweeps (see `every`) and at the end"},
                            &CpdOptions::checkpoint));
  table.push_back(field_row({.name = "every",
                             .field = "checkpoint_sweeps",
                             .group = "Checkpoints",
                             .kind = OptionKind::whole,
                             .word = "K",
                             .least = 1,
                             .help = "With `checkpoint`: number of sweeps from one checkpoint to the next"},
                            &CpdOptions::checkpoint_sweeps));
  table.push_back(field_row(
      {.name = "resume",
       .group = "Checkpoints",
       .kind = OptionKind::path,
       .word = "FILE",
       .help =
           "Continue the fit of this checkpoint, as if it had not stopped, or of this model, which lacks the state of "
           "the method, such as momentum, so that its fit goes another way. Rank, seed, precision, method and its "
           "own options are those of the file, except `validate`; give that and other options again"},
      &CpdOptions::resume));
}

std::vector<Option<CpdOptions>> make_table() {
  std::vector<Option<CpdOptions>> table = {
      field_row({.name = "rank",
                 .kind = OptionKind::whole,
                 .word = "R[,R...]",
                 .least = 1,
                 .is_kept = true,
                 .help = "Number of components, 1 to 4096; required unless `initial` or `resume` is given"},
                &CpdOptions::rank),
      method_choice()};
  add_constraints(table);
  add_methods(table);
  add_start_and_end(table);
  add_checkpoints(table);
  for (const Option<Compute>& of_compute : compute_option_table()) table.push_back(compute_row(of_compute));
  return table;
}

std::vector<Option<Compute>> make_compute_table() {
  constexpr const char* group = "Where it computes";
  std::vector<Option<Compute>> table = {
      field_row(
          {.name = "devices",
           .group = group,
           .kind = OptionKind::words,
           .word = "LIST",
           .help = "Where to compute: cpu, cuda, or devices of this machine that share each pass (cpu, cuda:0, cuda:1 "
                   "and so on, or all). A GPU begins with 12 times as many chunks and rows as the CPU, unless shares "
                   "are given. `memory` and `threads` are of all devices together. `device_memory` is of each GPU",
           .syntax = "With shares: cpu=1,cuda:0=20",
           .usual = "the GPU if there is one and this build supports it, else the CPU"},
          &Compute::devices),
      field_row({.name = "threads",
                 .group = group,
                 .kind = OptionKind::whole,
                 .word = "N",
                 .least = 1,
                 .most = 4096,
                 .help = "Number of threads",
                 .usual = "one per processor"},
                &Compute::threads)};
  const auto add_memory = [&](OptionRow text, std::uint64_t MemoryBudget::*bytes) {
    text.group = group;
    text.kind = OptionKind::bytes;
    text.word = "SIZE";
    text.most = any_count;
    table.push_back({std::move(text),
                     [bytes](Compute& compute, const OptionValue& value) { put(compute.memory.*bytes, value); },
                     [bytes](const Compute& compute) { return value_of(compute.memory.*bytes); }});
  };
  add_memory({.name = "memory",
              .field = "host_bytes",
              .help = "Host memory budget of the whole job. With less memory, more chunks are read from disk again in "
                      "every pass",
              .usual = "80% of what is available"},
             &MemoryBudget::host_bytes);
  add_memory({.name = "device_memory",
              .field = "device_bytes",
              .help = "Device memory budget. With less memory, more chunks are sent to the GPU in every pass",
              .usual = "90% of what is free"},
             &MemoryBudget::device_bytes);
  table.push_back(field_row(
      {.name = "precision",
       .group = group,
       .kind = OptionKind::choice,
       .choices = {"f64", "f32", "mixed"},
       .is_kept = true,
       .help = "Precision of the factors and of MTTKRP. f32 takes less memory and time; f64 is more accurate. mixed "
               "stores the factors as f32 and computes in f64"},
      &Compute::precision));
  table.push_back(field_row(
      {.name = "deterministic",
       .group = group,
       .kind = OptionKind::flag,
       .help = "Give the same model, bit for bit, with any number of threads and any memory budget. Only the CPU "
               "can; it takes more time"},
      &Compute::deterministic));
  table.push_back(
      field_row({.name = "trace",
                 .group = group,
                 .kind = OptionKind::path,
                 .word = "FILE",
                 .help = "Write a Chrome trace of reads, copies and kernels to this file. ui.perfetto.dev shows it"},
                &Compute::trace));
  return table;
}

}  // namespace

const std::vector<Option<CpdOptions>>& cpd_option_table() {
  static const std::vector<Option<CpdOptions>> table = make_table();
  return table;
}

const std::vector<Option<Compute>>& compute_option_table() {
  static const std::vector<Option<Compute>> table = make_compute_table();
  return table;
}

}  // namespace blco
