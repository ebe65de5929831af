// Fits, plans, MTTKRP and losses, with the options under the words of blco-cpd.
#include <algorithm>
#include <array>
#include <blco/cpd.hpp>
#include <blco/evaluate.hpp>
#include <blco/peers.hpp>
#include <blco/rank_choice.hpp>
#include <blco/starts.hpp>
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "tools/python/python_support.hpp"

namespace blco::python {

void warn_on_any_thread(const std::string& text) {
  if (RunningJobs::must_end()) return;
  const nb::gil_scoped_acquire lock;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) PyErr_WriteUnraisable(nullptr);
}

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

nb::dict as_dict(const CpdPlan& plan) {
  nb::dict dict;
  dict["device"] = plan.device;
  dict["device_note"] = plan.device_note;
  dict["memory_note"] = plan.memory_note;
  dict["threads"] = plan.threads;
  nb::list others;
  for (const CpdPlan& other : plan.others) others.append(as_dict(other));
  dict["others"] = others;
  dict["chunks"] = plan.chunk_count;
  dict["device_chunks"] = plan.device_chunks;
  dict["decoded_chunks"] = plan.decoded_chunks;
  dict["packed_chunks"] = plan.packed_chunks;
  dict["streamed_chunks"] = plan.streamed_chunks;
  dict["budget_bytes"] = plan.budget_bytes;
  dict["planned_bytes"] = plan.planned_bytes;
  dict["minimum_bytes"] = plan.minimum_bytes;
  dict["disk_bytes_per_pass"] = plan.disk_bytes_per_pass;
  nb::list reads;
  for (const ModeRead& read : plan.reads) {
    nb::dict of_mode;
    of_mode["order"] = read.own_order ? "own" : "natural";
    of_mode["disk_bytes"] = read.disk_bytes;
    reads.append(of_mode);
  }
  dict["reads"] = reads;
  dict["orders_note"] = plan.orders_note;
  dict["column_slabs"] = plan.column_slabs;
  dict["row_bytes_per_pass"] = plan.row_bytes_per_pass;
  dict["device_planned_bytes"] = plan.device_planned_bytes;
  dict["device_minimum_bytes"] = plan.device_minimum_bytes;
  return dict;
}

nb::dict as_dict(const StartsSummary& starts) {
  nb::dict dict;
  dict["count"] = starts.starts.size();
  dict["best"] = starts.best_start;
  dict["reaching"] = starts.reaching;
  dict["lowest_match"] = starts.lowest_match;
  dict["mean_match"] = starts.mean_match;
  dict["runs"] = starts.starts;
  return dict;
}

namespace {

Loss read_loss(const std::string& name) {
  if (const std::optional<Loss> loss = parse_loss(name)) return *loss;
  std::string names;
  for (const std::string& known : loss_names()) names += (names.empty() ? "" : ", ") + known;
  refuse("loss: '" + name + "' is none of " + names + "; " + loss_parameter_ranges());
}

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

// The dict keeps alive what the options point to.
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

nb::dict plan(const Tensor& tensor, const nb::dict& words, int starts) {
  const CpdOptions options = read_options(tensor, words);
  return as_dict(without_lock([&] { return plan_starts(tensor, options, starts); }));
}

// An object of Python with rank, size, neighbours, send(to, bytes) and receive(from); it may have gpu_sharers and
// gpu_rank.
class PythonPeers final : public Peers {
 public:
  explicit PythonPeers(nb::object comm)
      : comm_(std::move(comm)), rank_(number("rank")), size_(number("size")), neighbours_(number("neighbours")) {
    gpu_sharers_ = std::max(1, number_or("gpu_sharers", Peers::gpu_sharers()));
    gpu_rank_ = number_or("gpu_rank", Peers::gpu_rank());
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int neighbours() const override { return neighbours_; }
  int gpu_sharers() const override { return gpu_sharers_; }
  int gpu_rank() const override { return gpu_rank_; }
  void send(int to, std::span<const std::byte> message) override {
    call([&] { comm_.attr("send")(to, nb::bytes(message.data(), message.size())); });
  }
  std::vector<std::byte> receive(int from) override {
    std::vector<std::byte> message;
    call([&] {
      const nb::bytes bytes(comm_.attr("receive")(from));
      const auto* const begin = reinterpret_cast<const std::byte*>(bytes.c_str());
      message.assign(begin, begin + bytes.size());
    });
    return message;
  }

 private:
  int number(const char* name) const { return nb::cast<int>(comm_.attr(name)); }
  int number_or(const char* name, int fallback) const { return nb::hasattr(comm_, name) ? number(name) : fallback; }

  template <class Call>
  static void call(const Call& call) {
    const nb::gil_scoped_acquire lock;
    try {
      call();
    } catch (const nb::python_error& error) {
      throw Error(ErrorKind::io, "comm: " + words_of(error));
    }
  }

  nb::object comm_;
  int rank_;
  int size_;
  int neighbours_;
  int gpu_sharers_ = 1;
  int gpu_rank_ = 0;
};

void set_callbacks(CpdOptions& options, Callbacks& callbacks, const nb::object& callback) {
  options.on_progress = callbacks.progress();
  options.on_sweep = [&](const SweepReport& report) { return callbacks.call(callback, report); };
  options.on_checkpoint = [&](const CheckpointReport& report) {
    if (report.failure) callbacks.warn(*report.failure);
  };
}

// The model, or None; how alike several starts are, or None; and what a callback raised, or None.
nb::tuple fit(const Tensor& tensor, const nb::dict& words, int starts, nb::object progress, const nb::object& callback,
              const nb::object& comm) {
  CpdOptions options = read_options(tensor, words);
  std::optional<PythonPeers> peers;
  if (!comm.is_none()) options.compute.peers = &peers.emplace(comm);
  if (peers && peers->rank() != 0) {
    {
      const nb::gil_scoped_release unlocked;
      serve([&]() -> const Tensor& { return tensor; }, options.compute, *peers);
    }
    return nb::make_tuple(nb::none(), nb::none(), nb::none());
  }
  Callbacks callbacks(std::move(progress));
  set_callbacks(options, callbacks, callback);
  nb::object model = nb::none();
  nb::object agreement = nb::none();
  nb::object raised = nb::none();
  try {
    if (starts == 1) {
      model = nb::cast(callbacks.run([&] { return fit_cpd(tensor, options); }));
    } else {
      StartsReport report = callbacks.run([&] { return fit_starts(tensor, options, starts); });
      agreement = as_dict(report);
      model = nb::cast(std::move(report.best));
    }
    callbacks.rethrow();
  } catch (nb::python_error& error) {
    raised = nb::borrow(error.value());
  } catch (...) {
    if (peers) dismiss(*peers);
    throw;
  }
  if (peers) dismiss(*peers);
  return nb::make_tuple(model, agreement, raised);
}

// A list of (best model of a rank, how alike several starts are or None, core consistency or None); the choice, or
// None; and what a callback raised, or None.
nb::tuple fit_several(const Tensor& tensor, const nb::dict& words, const std::vector<int>& ranks, int starts,
                      nb::object progress, const nb::object& callback) {
  CpdOptions options = read_options(tensor, words);
  Callbacks callbacks(std::move(progress));
  set_callbacks(options, callbacks, callback);
  std::vector<RankReport> reports;
  RankSearch search{.starts = starts};
  search.on_rank = [&](RankReport&& report) {
    reports.push_back(std::move(report));
    return true;
  };
  std::optional<int> choice;
  nb::object raised = nb::none();
  try {
    choice = callbacks.run([&] { return fit_ranks(tensor, options, ranks, search); });
    callbacks.rethrow();
  } catch (nb::python_error& error) {
    raised = nb::borrow(error.value());
  }
  nb::list rows;
  for (RankReport& report : reports) {
    const nb::object agreement = starts > 1 ? nb::object(as_dict(report.starts)) : nb::none();
    rows.append(nb::make_tuple(nb::cast(std::move(report.starts.best)), agreement, report.core_consistency));
  }
  return nb::make_tuple(rows, choice, raised);
}

nb::ndarray<nb::numpy, double> multiply(const Tensor& tensor, const Matrices& factors, int mode, const nb::dict& dict,
                                        nb::object progress) {
  Keywords words(dict);
  const Compute compute = read_compute(words);
  words.finish("mttkrp");
  const std::vector<MatrixView> views = views_of(factors);
  Callbacks callbacks(std::move(progress));
  std::vector<double> product =
      callbacks.run([&] { return mttkrp(tensor, views, mode, compute, callbacks.progress()); });
  const std::size_t rows = tensor.shape()[static_cast<std::size_t>(mode)];
  const std::size_t columns = product.size() / rows;
  return own(std::move(product), {rows, columns});
}

// The value, and the gradient of each mode.
nb::tuple evaluate_loss(const Tensor& tensor, const Matrices& factors, const std::string& loss, const nb::dict& dict,
                        nb::object progress) {
  Keywords words(dict);
  AbsentCells absent = AbsentCells::zeros;
  words.take_word<AbsentCells>("absent", absent, {{"zeros", AbsentCells::zeros}, {"unknown", AbsentCells::unknown}});
  const Compute compute = read_compute(words);
  words.finish("evaluate");
  const Loss wanted = read_loss(loss);
  const std::vector<MatrixView> views = views_of(factors);
  Callbacks callbacks(std::move(progress));
  LossValue result =
      callbacks.run([&] { return evaluate(tensor, views, wanted, absent, compute, callbacks.progress()); });
  nb::list gradients;
  for (std::size_t n = 0; n < views.size(); ++n) {
    gradients.append(own(std::move(result.gradients[n]), {views[n].rows, views[n].columns}));
  }
  return nb::make_tuple(result.value, gradients);
}

// A start as pickles have it.
using StartState =
    std::tuple<int, std::uint64_t, std::size_t, double, double, std::optional<double>, std::optional<double>, int,
               double, bool, bool, std::optional<double>, std::vector<double>, std::vector<double>>;

StartState state_of(const StartReport& start) {
  return {start.start,
          start.seed,
          start.sweeps,
          start.fit,
          start.objective,
          start.explained,
          start.validation_error,
          static_cast<int>(start.stop_reason),
          start.seconds,
          start.is_best,
          start.reaches_best,
          start.match,
          start.component_matches,
          start.mode_matches};
}

StartReport from(const StartState& state) {
  StartReport start;
  int reason = 0;
  std::tie(start.start, start.seed, start.sweeps, start.fit, start.objective, start.explained, start.validation_error,
           reason, start.seconds, start.is_best, start.reaches_best, start.match, start.component_matches,
           start.mode_matches) = state;
  start.stop_reason = static_cast<StopReason>(reason);
  return start;
}

}  // namespace

std::vector<RowConstraint> read_held(Keywords& words, const TensorSummary& tensor) {
  std::vector<RowConstraint> constraints;
  ConstraintReader(words, tensor, constraints).read_held();
  return constraints;
}

void bind_fits(nb::module_& module) {
  nb::class_<SweepReport>(module, "Sweep", "One sweep of a fit.")
      .def_ro("sweep", &SweepReport::sweep, "Counted from 1.")
      .def_ro("objective", &SweepReport::objective, "What the method minimises.")
      .def_ro("fit", &SweepReport::fit, "Of als: 1 - |X - M| / |X|.")
      .def_ro("fit_change", &SweepReport::fit_change)
      .def_ro("explained", &SweepReport::explained)
      .def_ro("kkt_violation", &SweepReport::kkt_violation)
      .def_ro("validation_error", &SweepReport::validation_error)
      .def_prop_ro(
          "held_out",
          [](const SweepReport& report) -> nb::object {
            if (!report.held_out) return nb::none();
            nb::dict means;
            means["entries"] = report.held_out->entries;
            means["cold_entries"] = report.held_out->cold_entries;
            means["model_error"] = report.held_out->model_error;
            means["mean_error"] = report.held_out->mean_error;
            means["mode_means_error"] = report.held_out->mode_means_error;
            return means;
          },
          "Of complete with held-out entries: their number, how many lie in rows without entries, and the errors of "
          "the "
          "mean and of means by mode.")
      .def_ro("seconds", &SweepReport::seconds)
      .def_ro("passes", &SweepReport::passes)
      .def_ro("bytes_read", &SweepReport::bytes_read)
      .def_ro("converged", &SweepReport::converged)
      .def_ro("restarted", &SweepReport::restarted,
              "Momentum led to a worse model: the model is that of the sweep before.");
  nb::class_<StartReport>(module, "Start", "One of several fits.")
      .def_ro("seed", &StartReport::seed)
      .def_ro("sweeps", &StartReport::sweeps)
      .def_ro("fit", &StartReport::fit, "Of als and of Tucker models.")
      .def_ro("objective", &StartReport::objective, "Of the other methods.")
      .def_ro("reaches_best", &StartReport::reaches_best)
      .def_ro("match", &StartReport::match, "With the best model: 1 if they are the same; None of the best itself.")
      .def_ro("component_matches", &StartReport::component_matches, "Of each component of the best model.")
      .def_ro("mode_matches", &StartReport::mode_matches, "Of the spaces of each mode of a Tucker model.")
      .def("__getstate__", state_of)
      .def("__setstate__",
           [](StartReport& report, const StartState& state) { new (&report) StartReport(from(state)); });
  module.def("fit", fit, nb::arg("tensor"), nb::arg("words"), nb::arg("starts"), nb::arg("progress").none(),
             nb::arg("callback").none(), nb::arg("comm").none());
  module.def("fit_ranks", fit_several, nb::arg("tensor"), nb::arg("words"), nb::arg("ranks"), nb::arg("starts"),
             nb::arg("progress").none(), nb::arg("callback").none());
  module.def("plan", plan, nb::arg("tensor"), nb::arg("words"), nb::arg("starts"));
  module.def("mttkrp", multiply, nb::arg("tensor"), nb::arg("factors"), nb::arg("mode"), nb::arg("words"),
             nb::arg("progress").none());
  module.def("evaluate", evaluate_loss, nb::arg("tensor"), nb::arg("factors"), nb::arg("loss"), nb::arg("words"),
             nb::arg("progress").none());
}

}  // namespace blco::python
