// Models: their numbers as views, files, comparison, summaries and values of cells.
#include <blco/model_match.hpp>
#include <blco/model_summary.hpp>
#include <blco/predict.hpp>
#include <blco/report.hpp>

#include "tools/python/python_support.hpp"

namespace blco::python {
namespace {

CpdModel make_model(const Matrices& factors, const std::vector<double>& weights, const LabelLists& labels,
                    const std::optional<std::vector<std::string>>& mode_names) {
  if (factors.empty() || weights.empty()) {
    refuse("a model has at least one factor and one component; give a matrix per mode, rows x rank");
  }
  CpdModel model;
  model.rank = static_cast<int>(weights.size());
  model.weights = weights;
  for (std::size_t n = 0; n < factors.size(); ++n) {
    const auto& factor = factors[n];
    if (factor.shape(1) != weights.size()) {
      refuse("factor " + std::to_string(n) + " has " + std::to_string(factor.shape(1)) + " columns, but there are " +
             std::to_string(weights.size()) + " weights");
    }
    model.shape.push_back(factor.shape(0));
    model.factors.emplace_back(factor.data(), factor.data() + factor.size());
    model.mode_names.push_back("mode" + std::to_string(n));
  }
  if (mode_names) model.mode_names = *mode_names;
  if (model.mode_names.size() != factors.size()) {
    refuse("there are " + std::to_string(model.mode_names.size()) + " `mode_names`, but " +
           std::to_string(factors.size()) + " factors; give a name per mode");
  }
  for (const std::vector<std::string>& names : names_of(labels)) model.labels.emplace_back(names);
  if (!model.labels.empty() && model.labels.size() != factors.size()) {
    refuse("there are `labels` of " + std::to_string(model.labels.size()) + " modes, but " +
           std::to_string(factors.size()) + " factors; give a list, or None, per mode");
  }
  for (std::size_t n = 0; n < model.labels.size(); ++n) {
    if (model.labels[n].empty() || model.labels[n].size() == model.shape[n]) continue;
    refuse("mode " + std::to_string(n) + " has " + std::to_string(model.labels[n].size()) + " labels, but " +
           std::to_string(model.shape[n]) + " rows; give every row a name");
  }
  return model;
}

// Per component: its number, weight, share, and per mode its largest entries, as (label or row, value).
nb::list summarize(const CpdModel& model, std::size_t entries) {
  nb::list components;
  const auto rank = static_cast<std::size_t>(model.rank);
  for (const ComponentSummary& component : summarize_components(model, {.components = rank, .entries = entries})) {
    nb::list modes;
    for (std::size_t n = 0; n < component.modes.size(); ++n) {
      modes.append(named_entries(component.modes[n].largest, model.labels, n));
    }
    components.append(nb::make_tuple(component.component, component.weight, component.share, modes));
  }
  return components;
}

nb::tuple compare(const CpdModel& first, const CpdModel& second) {
  const ModelMatch match = match_components(first, second);
  nb::list pairs;
  for (const ComponentMatch& pair : match.pairs) {
    pairs.append(nb::make_tuple(pair.component, pair.other, pair.score, pair.congruence));
  }
  return nb::make_tuple(match.score, pairs);
}

void report(const CpdModel& model, const std::filesystem::path& output, const nb::dict& dict, nb::object progress) {
  Keywords words(dict);
  ReportOptions options{.index_base = 0};
  words.take("title", options.title);
  words.take("components", options.components);
  words.take("entries", options.entries);
  if (words.has("tensor")) options.tensor = nb::cast<const Tensor*>(words.take("tensor"));
  words.take("memory", options.memory_bytes);
  words.take("threads", options.threads);
  std::vector<StartReport> starts;
  words.take("starts", starts);
  options.starts = starts;
  words.finish("report");
  Callbacks callbacks(std::move(progress));
  callbacks.run([&] { write_report(model, output, options, callbacks.progress()); });
}

}  // namespace

void bind_models(nb::module_& module) {
  with_header(nb::class_<CpdModel>(module, "Model"))
      .def_ro("rank", &CpdModel::rank)
      .def_prop_ro("loss", [](const CpdModel& model) { return to_string(model.loss); })
      .def_ro("explained", &CpdModel::explained)
      .def_ro("found_ridge", &CpdModel::found_ridge)
      .def_ro("objective_history", &CpdModel::objective_history)
      .def_prop_ro("weights",
                   [](nb::handle self) {
                     const CpdModel& model = nb::cast<const CpdModel&>(self);
                     return ReadOnly(model.weights.data(), {model.weights.size()}, self);
                   })
      .def("factor", [](nb::handle self, std::size_t mode) {
        const CpdModel& model = nb::cast<const CpdModel&>(self);
        const auto rank = static_cast<std::size_t>(model.rank);
        const std::vector<double>& factor = model.factors.at(mode);
        return ReadOnly(factor.data(), {factor.size() / rank, rank}, self);
      });
  module.def("make_model", make_model, nb::arg("factors"), nb::arg("weights"), nb::arg("labels").none(),
             nb::arg("mode_names").none());
  module.def("load", load_model, nb::call_guard<nb::gil_scoped_release>(), nb::arg("path"));
  module.def("is_model", is_model, nb::arg("path"));
  module.def(
      "save_model", [](const CpdModel& model, const std::filesystem::path& path) { save(model, path); },
      nb::call_guard<nb::gil_scoped_release>(), nb::arg("model"), nb::arg("path"));
  module.def(
      "predict",
      [](const CpdModel& model, const std::vector<Array>& coordinates, int threads) {
        const std::vector<IndexView> views = index_views(coordinates);
        std::vector<double> values = without_lock([&] { return predict(model, views, threads); });
        const std::size_t count = values.size();
        return own(std::move(values), {count});
      },
      nb::arg("model"), nb::arg("coordinates"), nb::arg("threads"));
  module.def("summarize", summarize, nb::arg("model"), nb::arg("entries"));
  module.def("report", report, nb::arg("model"), nb::arg("output"), nb::arg("words"), nb::arg("progress").none());
  module.def("compare", compare, nb::arg("first"), nb::arg("second"));
}

}  // namespace blco::python
