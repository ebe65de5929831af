// Fits, plans, MTTKRP and losses.
#include <algorithm>
#include <blco/cpd.hpp>
#include <blco/evaluate.hpp>
#include <blco/peers.hpp>
#include <blco/rank_choice.hpp>
#include <blco/starts.hpp>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tools/python/python_support.hpp"

namespace blco::python {

void warn_on_any_thread(const std::string& text) {
  if (RunningJobs::must_end()) return;
  const nb::gil_scoped_acquire lock;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) PyErr_WriteUnraisable(nullptr);
}

nb::dict as_dict(const StartsSummary& starts) {
  nb::dict dict = as_dict<StartsSummary>(starts);
  dict["count"] = starts.starts.size();
  dict["runs"] = starts.starts;
  return dict;
}

namespace {

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
  void leave(const Error&) override { has_left_ = true; }
  // Ends serve() of the others, unless they cannot be told.
  void dismiss() {
    if (!has_left_) blco::dismiss(*this);
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
  bool has_left_ = false;
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
    if (peers) peers->dismiss();
    throw;
  }
  if (peers) peers->dismiss();
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

// Takes a value from what as_object() made of it.
template <class Value>
void restore(nb::handle from, Value& value);
template <HasFields Report>
void restore(nb::handle from, std::optional<Report>& report) {
  if (!from.is_none()) restore(from, report.emplace());
}
template <class Value>
void restore(nb::handle from, Value& value) {
  if constexpr (HasFields<Value>) {
    const auto take = [&](const auto& field) { restore(from[field.name], value.*field.value); };
    std::apply([&](const auto&... field) { (take(field), ...); }, fields_of<Value>);
  } else if constexpr (std::is_same_v<Value, StopReason>) {
    value = parse_stop_reason(nb::cast<std::string>(from));
  } else {
    value = nb::cast<Value>(from);
  }
}

}  // namespace

void bind_fits(nb::module_& module) {
  with_fields(
      nb::class_<SweepReport>(
          module, "Sweep",
          "One sweep of a fit, counted from 1. `objective` is what the method minimises; `fit`, of als, is "
          "1 - |X - M| / |X|. `held_out`, of complete with held-out entries: their number, how many lie in rows "
          "without entries, and the errors of the mean and of means by mode. `restarted`: momentum led to a "
          "worse model, and the model is that of the sweep before."))
      .def_ro("converged", &SweepReport::converged);
  with_fields(
      nb::class_<StartReport>(
          module, "Start",
          "One of several fits. `fit` is of als and of Tucker models, `objective` of the other methods. `match` "
          "with the best model is 1 if they are the same, and None of the best itself; `component_matches` has "
          "that of each component of the best model, `mode_matches` that of the spaces of each mode of a Tucker "
          "model."))
      .def("__getstate__", [](const StartReport& report) { return as_dict(report); })
      .def("__setstate__",
           [](StartReport& report, const nb::dict& state) { restore(state, *new (&report) StartReport()); });
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
