// The options of fits under the words of blco-cpd.
#include <algorithm>
#include <array>
#include <blco/cpd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tools/python/python_support.hpp"

namespace blco::python {
namespace {

// True means all modes; else one, or several, by name or number.
std::vector<std::size_t> modes_of(const std::string& name, nb::handle modes, const TensorSummary& tensor) {
  std::vector<std::size_t> numbers;
  // A number is no name, even if a mode is called so.
  TensorSummary unnamed = tensor;
  unnamed.mode_names.clear();
  const auto add = [&](nb::handle mode) {
    numbers.push_back(find_mode(PyIndex_Check(mode.ptr()) != 0 ? unnamed : tensor, nb::str(mode).c_str()));
  };
  if (nb::isinstance<nb::bool_>(modes)) {
    for (std::size_t n = 0; nb::cast<bool>(modes) && n < tensor.shape.size(); ++n) numbers.push_back(n);
  } else if (nb::isinstance<nb::str>(modes) || nb::isinstance<nb::int_>(modes)) {
    add(modes);
  } else if (!nb::isinstance<nb::iterable>(modes)) {
    throw nb::type_error(
        (name + ": cannot take " + nb::repr(modes).c_str() + "; give True, or modes by name or number").c_str());
  } else {
    for (const nb::handle mode : modes) add(mode);
  }
  return numbers;
}

class ConstraintReader {
 public:
  ConstraintReader(Keywords& words, const TensorSummary& tensor, std::vector<RowConstraint>& constraints)
      : words_(&words), tensor_(&tensor), constraints_(&constraints) {}

  void read_held() { take("hold", {.set = RowSet::held}); }
  // Those of a resumed model stay where none is given.
  void read() {
    static constexpr std::array names = {"hold", "nonnegative", "simplex", "box", "l1"};
    if (std::ranges::any_of(names, [&](const char* name) { return words_->has(name); })) constraints_->clear();
    read_held();
    take("nonnegative", {.set = RowSet::nonnegative});
    take("simplex", {.set = RowSet::simplex});
    if (words_->has("box")) read_box(words_->take("box"));
    double l1 = 0;
    words_->take("l1", l1);
    if (l1 == 0) return;
    constraints_->resize(tensor_->shape.size());
    for (RowConstraint& constraint : *constraints_) constraint.l1 = constraint.is_held() ? 0 : l1;
  }

 private:
  void take(const char* name, const RowConstraint& wanted) {
    if (words_->has(name)) constrain(name, words_->take(name), wanted);
  }

  // (low, high), or (low, high, modes).
  void read_box(const nb::object& box) {
    const auto parts = Keywords::value_of<std::vector<nb::object>>("box", box);
    if (parts.size() != 2 && parts.size() != 3) refuse("box: give (low, high), or (low, high, modes)");
    const RowConstraint wanted{.set = RowSet::box,
                               .lower = Keywords::value_of<double>("box", parts[0]),
                               .upper = Keywords::value_of<double>("box", parts[1])};
    constrain("box", parts.size() == 3 ? parts[2] : nb::bool_(true), wanted);
  }

  void constrain(const std::string& name, nb::handle modes, const RowConstraint& wanted) {
    constraints_->resize(tensor_->shape.size());
    const bool all = nb::isinstance<nb::bool_>(modes);
    for (const std::size_t mode : modes_of(name, modes, *tensor_)) {
      RowConstraint& constraint = (*constraints_)[mode];
      if (all && constraint.is_held()) continue;
      if (constraint != RowConstraint{} && constraint != wanted) {
        refuse(name + ": mode " + std::to_string(mode) +
               " has another constraint already; give each mode one of hold, nonnegative, box and simplex");
      }
      constraint = wanted;
    }
  }

  Keywords* words_;
  const TensorSummary* tensor_;
  std::vector<RowConstraint>* constraints_;
};

void take_loss(Keywords& words, CpdMethod& method) {
  std::visit(
      [&](auto& options) {
        if constexpr (requires { options.loss; }) {
          std::string loss;
          words.take("loss", loss);
          if (!loss.empty()) options.loss = read_loss(loss);
        }
      },
      method);
}

struct OwnOptions {
  Keywords& words;

  void operator()(AlsMethod&) const {}
  void operator()(AprMethod& method) const {
    words.take("inner", method.inner_iterations);
    words.take("kappa", method.kappa);
  }
  void operator()(GcpMethod& method) const { words.take("evaluations", method.evaluations); }
  void operator()(GcpAdamMethod& method) const {
    words.take("learning_rate", method.learning_rate);
    words.take("samples", method.sampled_zeros);
  }
  void operator()(CompletionMethod& method) const {
    words.take("cg_steps", method.cg_steps);
    if (words.has("validate")) method.validation = nb::cast<const Tensor*>(words.take("validate"));
  }
};

}  // namespace

Compute read_compute(Keywords& words, Compute compute) {
  if (words.has("devices")) {
    const nb::object devices = words.take("devices");
    compute.devices = nb::isinstance<nb::str>(devices)
                          ? std::vector{Keywords::value_of<std::string>("devices", devices)}
                          : Keywords::value_of<std::vector<std::string>>("devices", devices);
  }
  words.take_word<Precision>("precision", compute.precision,
                             {{"f64", Precision::f64}, {"f32", Precision::f32}, {"mixed", Precision::mixed}});
  words.take("threads", compute.threads);
  words.take("deterministic", compute.deterministic);
  words.take("memory", compute.memory.host_bytes);
  words.take("device_memory", compute.memory.device_bytes);
  words.take("trace", compute.trace);
  compute.on_compile = warn_on_any_thread;
  return compute;
}

Loss read_loss(const std::string& name) {
  if (const std::optional<Loss> loss = parse_loss(name)) return *loss;
  std::string names;
  for (const std::string& known : loss_names()) names += (names.empty() ? "" : ", ") + known;
  refuse("loss: '" + name + "' is none of " + names + "; " + loss_parameter_ranges());
}

CpdOptions read_options(const Tensor& tensor, const nb::dict& dict) {
  Keywords words(dict);
  std::filesystem::path resume;
  words.take("resume", resume);
  CpdOptions options = resume.empty() ? CpdOptions() : options_of_model(resume);
  options.resume = resume;
  if (resume.empty()) options.rank = 0;
  words.take("rank", options.rank);
  if (words.has("method")) {
    CpdMethod method;
    words.take_word<CpdMethod>("method", method,
                               {{"als", AlsMethod()},
                                {"apr", AprMethod()},
                                {"gcp", GcpMethod()},
                                {"gcp-adam", GcpAdamMethod()},
                                {"complete", CompletionMethod()}});
    if (method.index() != options.method.index()) options.method = method;
  }
  take_loss(words, options.method);
  options.method = fitted_method(tensor.summary(), options.method);
  std::visit(OwnOptions{words}, options.method);
  std::visit([&](auto& method) { ConstraintReader(words, tensor.summary(), method.constraints).read(); },
             options.method);
  words.take("max_sweeps", options.max_sweeps.emplace(max_sweeps_of(options)));
  words.take("tolerance", options.tolerance.emplace(tolerance_of(options)));
  words.take("ridge", options.ridge);
  if (words.has("momentum")) words.take("momentum", options.momentum.emplace());
  words.take("seed", options.seed);
  words.take_word<Start>("start", options.start,
                         {{"auto", Start::automatic},
                          {"uniform", Start::uniform},
                          {"centered", Start::centered},
                          {"normal", Start::normal},
                          {"nvecs", Start::nvecs}});
  if (words.has("initial")) options.initial = nb::cast<const CpdModel*>(words.take("initial"));
  if (options.rank == 0 && options.initial == nullptr) refuse("rank: give the number of components, or `initial`");
  words.take("checkpoint", options.checkpoint);
  words.take("every", options.checkpoint_sweeps);
  words.take("time_limit", options.time_limit_seconds);
  options.compute = read_compute(words, options.compute);
  words.finish(std::string("method '") + name_of(options.method) + "'");
  return options;
}

std::vector<RowConstraint> read_held(Keywords& words, const TensorSummary& tensor) {
  std::vector<RowConstraint> constraints;
  ConstraintReader(words, tensor, constraints).read_held();
  return constraints;
}

}  // namespace blco::python
