// What the parts of the Python module share: keyword arguments, arrays, and callbacks from jobs that run without the
// interpreter's lock.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <blco/compute.hpp>
#include <blco/cpd.hpp>
#include <blco/error.hpp>
#include <blco/fields.hpp>
#include <blco/labels.hpp>
#include <blco/model.hpp>
#include <blco/progress.hpp>
#include <blco/starts.hpp>
#include <blco/tensor.hpp>
#include <blco/views.hpp>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace blco::python {

namespace nb = nanobind;

void bind_tensors(nb::module_& module);
void bind_models(nb::module_& module);
void bind_fits(nb::module_& module);
void bind_options(nb::module_& module);
void bind_tucker(nb::module_& module);

// Throws Error{invalid_argument}.
[[noreturn]] inline void refuse(const std::string& message) { throw Error(ErrorKind::invalid_argument, message); }

// What was raised, in words: the name of its type where it says nothing.
inline std::string words_of(const nb::python_error& error) {
  const std::string said = nb::str(error.value()).c_str();
  return said.empty() ? nb::str(error.type().attr("__name__")).c_str() : said;
}

// Keyword arguments by name, each taken once. One that is None is as one that is absent.
class Keywords {
 public:
  explicit Keywords(const nb::dict& words) {
    for (const auto& [name, value] : words) {
      if (!value.is_none()) words_[name] = value;
    }
  }

  bool has(const char* name) const { return words_.contains(name); }

  nb::object take(const char* name) {
    nb::object value = words_[name];
    nb::del(words_[name]);
    return value;
  }

  template <class T>
  void take(const char* name, T& target) {
    if (!has(name)) return;
    target = value_of<T>(name, take(name));
  }

  // The value of this argument, or of a part of it.
  template <class T>
  static T value_of(const char* name, nb::handle value) {
    T target{};
    if (!nb::try_cast(value, target)) {
      throw nb::type_error((std::string(name) + ": cannot take " + nb::repr(value).c_str()).c_str());
    }
    return target;
  }

  // `choices` are pairs of a word and its meaning.
  template <class T>
  void take_word(const char* name, T& target, std::initializer_list<std::pair<std::string_view, T>> choices) {
    if (!has(name)) return;
    std::string word;
    take(name, word);
    std::string words;
    for (const auto& [choice, meaning] : choices) {
      if (choice == word) {
        target = meaning;
        return;
      }
      words.append(words.empty() ? "" : ", ").append(choice);
    }
    refuse(std::string(name) + ": '" + word + "' is none of " + words);
  }

  // Refuses what nobody has taken.
  void finish(const std::string& owner) const {
    for (const auto& [name, value] : words_) refuse(nb::cast<std::string>(name) + " does not go with " + owner);
  }

 private:
  nb::dict words_;
};

// The words of Compute, over what `compute` has already.
Compute read_compute(Keywords& words, Compute compute = {});
// By its name. Throws Error{invalid_argument}.
Loss read_loss(const std::string& name);
// All words of a fit. The dict keeps alive what the options point to.
CpdOptions read_options(const Tensor& tensor, const nb::dict& dict);

// The fields of a report under the names of its JSON, but all in one dict: chunks.total is `chunks`, chunks.device
// `device_chunks`, host_bytes.planned `planned_bytes`, and device_bytes.planned `device_planned_bytes`.
template <HasFields Report>
nb::dict as_dict(const Report& report);
nb::dict as_dict(const StartsSummary& starts);

// What nanobind takes for a value.
template <class Value>
auto as_object(const Value& value) {
  if constexpr (HasFields<Value>) {
    return as_dict(value);
  } else if constexpr (std::is_enum_v<Value>) {
    return to_string(value);
  } else {
    return value;
  }
}
template <HasFields Report>
nb::object as_object(const std::optional<Report>& report) {
  return report ? as_dict(*report) : nb::object(nb::none());
}
template <HasFields Report>
nb::list as_object(const std::vector<Report>& reports) {
  nb::list list;
  for (const Report& report : reports) list.append(as_dict(report));
  return list;
}

inline std::string flat_name(std::string_view name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::string(name);
  const std::string_view part = name.substr(dot + 1);
  std::string_view of = name.substr(0, dot);
  if (part == "total") return std::string(of);
  std::string flat;
  if (const std::size_t last = of.rfind('_'); last != std::string_view::npos) {
    if (!of.starts_with("host")) flat = of.substr(0, last + 1);
    of = of.substr(last + 1);
  }
  return flat.append(part).append("_").append(of);
}

template <HasFields Report>
nb::dict as_dict(const Report& report) {
  nb::dict dict;
  for_each_field(report,
                 [&](const char* name, const auto& value) { dict[flat_name(name).c_str()] = as_object(value); });
  return dict;
}

// With an attribute for each field.
template <HasFields Report>
nb::class_<Report> with_fields(nb::class_<Report> bound) {
  const auto add = [&](const auto& field) {
    bound.def_prop_ro(field.name,
                      [value = field.value](const Report& report) { return as_object(std::invoke(value, report)); });
  };
  std::apply([&](const auto&... field) { (add(field), ...); }, fields_of<Report>);
  return bound;
}

// For a job on any of its threads, without the interpreter's lock: warns of what does not end it. Nobody on such a
// thread takes an exception, which a warning may be made into.
void warn_on_any_thread(const std::string& text);

// Jobs that run without the interpreter's lock. When the interpreter ends they must have ended: it ends a thread that
// asks for the lock later, in the midst of its C++.
class RunningJobs {
 public:
  RunningJobs() { ++count_; }
  ~RunningJobs() { --count_; }
  RunningJobs(const RunningJobs&) = delete;
  RunningJobs& operator=(const RunningJobs&) = delete;

  static bool must_end() { return must_end_; }
  // Tells all to stop, and waits for them, but no longer than ten seconds.
  static void end();
  static void forget() { count_ = 0; }  // in the child of a fork, where their threads do not run

 private:
  static inline std::atomic<int> count_ = 0;
  static inline std::atomic<bool> must_end_ = false;
};

template <class Work>
auto without_lock(const Work& work) {
  const RunningJobs job;
  const nb::gil_scoped_release unlocked;
  return work();
}

// Calls Python from a job that runs without the interpreter's lock. A callback that raises, or returns False, and a
// signal such as Ctrl-C stop the job; what was raised is kept.
class Callbacks {
 public:
  explicit Callbacks(nb::object progress) : progress_(std::move(progress)) {}
  Callbacks(const Callbacks&) = delete;
  Callbacks& operator=(const Callbacks&) = delete;

  bool call(const nb::object& callback, const auto& argument) {
    if (RunningJobs::must_end()) return false;
    const nb::gil_scoped_acquire lock;
    if (failure_) return false;
    try {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      if (callback.is_none()) return true;
      const nb::object answer = callback(nb::cast(argument));
      const int stays = answer.is_none() ? 1 : PyObject_IsTrue(answer.ptr());
      if (stays < 0) throw nb::python_error();
      return stays != 0;
    } catch (...) {
      failure_ = std::current_exception();
      return false;
    }
  }

  ProgressCallback progress() {
    return [this](const Progress& at) { return call(progress_, at); };
  }

  // Warns of what does not end the fit, such as a checkpoint that could not be saved.
  void warn(const Error& error) {
    const nb::gil_scoped_acquire lock;
    const nb::object named = nb::module_::import_("blco._errors").attr("of_kind")("io", error.what());
    call(nb::module_::import_("warnings").attr("warn"), nb::str(named));
  }

  // Runs work without the lock. What a callback raised is thrown in the place of the error that it led to.
  template <class Work>
  auto run(const Work& work) {
    try {
      return without_lock(work);
    } catch (const Error&) {
      rethrow();
      throw;
    }
  }

  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  nb::object progress_;
  std::exception_ptr failure_;
};

using Array = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

// The array where it lies, as the view of the one of these types that its numbers have.
template <class View, class... Numbers>
View view_of(const Array& array, const std::string& what) {
  View view;
  const auto is_one_of = [&]<class Number>(Number) {
    if (array.dtype() != nb::dtype<Number>()) return false;
    view = StridedView<Number>(static_cast<const Number*>(array.data()), array.shape(0), array.stride(0));
    return true;
  };
  if (!(is_one_of(Numbers{}) || ...)) refuse(what + " of this type are not read");
  return view;
}

inline std::vector<IndexView> index_views(const std::vector<Array>& arrays) {
  std::vector<IndexView> views;
  for (const Array& array : arrays) {
    views.push_back(view_of<IndexView, std::uint32_t, std::uint64_t, std::int32_t, std::int64_t>(array, "coordinates"));
  }
  return views;
}

// A view of numbers that `owner` keeps alive.
using ReadOnly = nb::ndarray<nb::numpy, const double>;

// A NumPy array that owns these numbers.
template <class Number>
nb::ndarray<nb::numpy, Number> own(std::vector<Number> numbers, std::initializer_list<std::size_t> shape) {
  auto* const kept = new std::vector<Number>(std::move(numbers));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<Number>*>(p); });
  return {kept->data(), shape, owner};
}

// Read-only, row-major f64 matrices come in as they lie.
using Matrices = std::vector<nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>>;

inline std::vector<MatrixView> views_of(const Matrices& matrices) {
  std::vector<MatrixView> views;
  for (const auto& matrix : matrices) views.push_back({matrix.data(), matrix.shape(0), matrix.shape(1)});
  return views;
}

// Per mode a list of strings, or None; or None for all.
using LabelLists = std::optional<std::vector<std::optional<std::vector<std::string>>>>;

// Per mode its names, or none. An empty name is refused.
inline std::vector<std::vector<std::string>> names_of(const LabelLists& labels) {
  std::vector<std::vector<std::string>> all;
  if (!labels) return all;
  for (const auto& mode : *labels) {
    const std::vector<std::string>& names = all.emplace_back(mode.value_or(std::vector<std::string>()));
    const auto empty = std::ranges::find(names, "");
    if (empty == names.end()) continue;
    refuse("label " + std::to_string(empty - names.begin()) + " of mode " + std::to_string(all.size() - 1) +
           " is empty; give every index a name");
  }
  return all;
}

// What is not UTF-8 in a label becomes a question mark.
inline nb::object as_text(std::string_view label) {
  return nb::steal(PyUnicode_DecodeUTF8(label.data(), static_cast<Py_ssize_t>(label.size()), "replace"));
}

// Entries of a mode's column as (label or row, value).
inline nb::list named_entries(const std::vector<FactorEntry>& entries, const std::vector<Labels>& labels,
                              std::size_t mode) {
  const bool has_labels = mode < labels.size() && !labels[mode].empty();
  nb::list named;
  for (const FactorEntry& entry : entries) {
    const nb::object name = has_labels ? as_text(labels[mode][entry.row]) : nb::cast(entry.row);
    named.append(nb::make_tuple(name, entry.value));
  }
  return named;
}

// Per mode a list of strings, or None.
inline nb::list labels_as_list(const std::vector<Labels>& labels, std::size_t order) {
  nb::list modes;
  for (std::size_t n = 0; n < order; ++n) {
    if (n >= labels.size() || labels[n].empty()) {
      modes.append(nb::none());
      continue;
    }
    nb::list names;
    for (std::uint64_t i = 0; i < labels[n].size(); ++i) names.append(as_text(labels[n][i]));
    modes.append(names);
  }
  return modes;
}

// Of the keyword `hold`, per mode held or none; empty without it.
std::vector<RowConstraint> read_held(Keywords& words, const TensorSummary& tensor);

// What both kinds of models say of themselves.
template <class Model>
nb::class_<Model> with_header(nb::class_<Model> bound) {
  bound.def_prop_ro("shape", [](const Model& of) { return nb::tuple(nb::cast(of.shape)); })
      .def_ro("method", &Model::method)
      .def_ro("seed", &Model::seed)
      .def_prop_ro("stop_reason", [](const Model& of) { return to_string(of.stop_reason); })
      .def_prop_ro("mode_names", [](const Model& of) { return nb::tuple(nb::cast(of.mode_names)); })
      .def_prop_ro("labels", [](const Model& of) { return labels_as_list(of.labels, of.shape.size()); })
      .def_ro("fit_history", &Model::fit_history);
  return bound;
}

}  // namespace blco::python
