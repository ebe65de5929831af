// Fits, plans, MTTKRP and losses.
#include <algorithm>
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

#include "tools/python/python_support.hpp"

namespace blco::python {

void warn_on_any_thread(const std::string& text) {
  if (RunningJobs::must_end()) return;
  const nb::gil_scoped_acquire lock;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) != 0) PyErr_WriteUnraisable(nullptr);
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
