// Tucker models: fits with the options under the words of blco-tucker, numbers as views, files.
#include <blco/report.hpp>
#include <blco/starts.hpp>
#include <blco/tucker_ranks.hpp>

#include "tools/python/python_support.hpp"

namespace blco::python {
namespace {

struct TuckerWords {
  TuckerOptions options;
  double max_error = 0;  // 0: the ranks are given
};

// The dict keeps alive what the options point to.
TuckerWords read_options(const nb::dict& dict, const TensorSummary& tensor, int starts) {
  Keywords words(dict);
  TuckerWords read;
  TuckerOptions& options = read.options;
  words.take("ranks", options.ranks);
  words.take_word<TuckerMethod>(
      "method", options.method,
      {{"auto", TuckerMethod::automatic}, {"hooi", TuckerMethod::hooi}, {"hoqri", TuckerMethod::hoqri}});
  words.take("max_sweeps", options.max_sweeps);
  words.take("tolerance", options.tolerance);
  words.take("seed", options.seed);
  words.take_word<TuckerStart>("start", options.start,
                               {{"random", TuckerStart::random}, {"nvecs", TuckerStart::nvecs}});
  if (words.has("initial")) {
    options.initial = nb::cast<const TuckerModel*>(words.take("initial"));
  }
  options.constraints = read_held(words, tensor);
  words.take("error", read.max_error);
  if (read.max_error != 0 && starts > 1) {
    refuse("`starts` and `error` exclude each other: each start would find ranks of its own");
  }
  words.take("resume", options.resume);
  words.take("checkpoint", options.checkpoint);
  words.take("every", options.checkpoint_sweeps);
  if (options.ranks.empty() && options.initial == nullptr && options.resume.empty() && read.max_error == 0) {
    refuse("ranks: give the columns of each mode's matrix, or `error`, `initial` or `resume`");
  }
  words.take("time_limit", options.time_limit_seconds);
  options.compute = read_compute(words);
  words.finish("Tucker models");
  return read;
}

nb::dict plan(const Tensor& tensor, const nb::dict& words, int starts) {
  const TuckerWords read = read_options(words, tensor.summary(), starts);
  const TuckerPlan plan = without_lock([&] {
    return read.max_error == 0 ? plan_starts(tensor, read.options, starts)
                               : plan_tucker_to_error(tensor, read.options, read.max_error);
  });
  nb::dict dict = as_dict(plan.plan);
  dict.update(as_dict(plan));
  return dict;
}

// The model, or None; how alike several starts are, or None; and what a callback raised, or None.
nb::tuple fit(const Tensor& tensor, const nb::dict& words, int starts, nb::object progress,
              const nb::object& callback) {
  TuckerWords read = read_options(words, tensor.summary(), starts);
  TuckerOptions& options = read.options;
  Callbacks callbacks(std::move(progress));
  options.on_progress = callbacks.progress();
  options.on_sweep = [&](const SweepReport& report) { return callbacks.call(callback, report); };
  options.on_checkpoint = [&](const CheckpointReport& report) {
    if (report.failure) callbacks.warn(*report.failure);
  };
  const auto run = [&] {
    if (read.max_error == 0) return fit_starts(tensor, options, starts);
    TuckerStartsReport report;
    report.best =
        fit_tucker_to_error(tensor, options, read.max_error, [&](const Error& error) { callbacks.warn(error); });
    return report;
  };
  nb::object model = nb::none();
  nb::object agreement = nb::none();
  nb::object raised = nb::none();
  try {
    TuckerStartsReport report = callbacks.run(run);
    if (starts > 1) agreement = as_dict(report);
    model = nb::cast(std::move(report.best));
    callbacks.rethrow();
  } catch (nb::python_error& error) {
    raised = nb::borrow(error.value());
  }
  return nb::make_tuple(model, agreement, raised);
}

nb::list top_of_core(const TuckerModel& model, std::size_t count) {
  nb::list entries;
  for (const CoreEntry& entry : model.top_of_core(count)) {
    entries.append(nb::make_tuple(nb::tuple(nb::cast(entry.index)), entry.value));
  }
  return entries;
}

void report(const TuckerModel& model, const std::filesystem::path& output, const nb::dict& dict) {
  Keywords words(dict);
  ReportOptions options{.index_base = 0};
  words.take("title", options.title);
  words.take("numbers", options.components);
  words.take("entries", options.entries);
  words.finish("report");
  without_lock([&] { write_report(model, output, options); });
}

}  // namespace

void bind_tucker(nb::module_& module) {
  with_header(nb::class_<TuckerModel>(module, "TuckerModel"))
      .def_prop_ro("ranks", [](const TuckerModel& model) { return nb::tuple(nb::cast(model.ranks)); })
      .def_prop_ro("core",
                   [](nb::handle self) {
                     const TuckerModel& model = nb::cast<const TuckerModel&>(self);
                     const std::vector<std::size_t> shape(model.ranks.begin(), model.ranks.end());
                     return ReadOnly(model.core.data(), shape.size(), shape.data(), self);
                   })
      .def("factor",
           [](nb::handle self, std::size_t mode) {
             const TuckerModel& model = nb::cast<const TuckerModel&>(self);
             return ReadOnly(model.factors.at(mode).data(), {model.shape[mode], model.ranks[mode]}, self);
           })
      .def("top_of_core", top_of_core, nb::arg("count"))
      .def(
          "top",
          [](const TuckerModel& model, std::size_t mode, std::size_t column, std::size_t count) {
            return named_entries(model.top(mode, column, count), model.labels, mode);
          },
          nb::arg("mode"), nb::arg("column"), nb::arg("count"));
  module.def("fit_tucker", fit, nb::arg("tensor"), nb::arg("words"), nb::arg("starts"), nb::arg("progress").none(),
             nb::arg("callback").none());
  module.def("principal_angles", principal_angles, nb::arg("first"), nb::arg("second"));
  module.def("plan_tucker", plan, nb::arg("tensor"), nb::arg("words"), nb::arg("starts"));
  module.def("report_tucker", report, nb::arg("model"), nb::arg("output"), nb::arg("words"));
  module.def("load_tucker", load_tucker, nb::call_guard<nb::gil_scoped_release>(), nb::arg("path"));
  module.def("is_tucker", is_tucker, nb::arg("path"));
  module.def(
      "save_model", [](const TuckerModel& model, const std::filesystem::path& path) { save(model, path); },
      nb::call_guard<nb::gil_scoped_release>(), nb::arg("model"), nb::arg("path"));
}

}  // namespace blco::python
