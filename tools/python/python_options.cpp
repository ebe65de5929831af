// The options of fits under the words of blco-cpd.
#include <blco/cpd.hpp>
#include <blco/option_table.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/python/python_support.hpp"

namespace blco::python {
namespace {

// True means all modes; else one, or several, by name or number.
ModeChoice modes_of(const std::string& name, nb::handle modes) {
  ModeChoice chosen;
  const auto add = [&](nb::handle mode) {
    chosen.modes.push_back({nb::str(mode).c_str(), PyIndex_Check(mode.ptr()) != 0});
  };
  if (nb::isinstance<nb::bool_>(modes)) {
    chosen.all = nb::cast<bool>(modes);
  } else if (nb::isinstance<nb::str>(modes) || nb::isinstance<nb::int_>(modes)) {
    add(modes);
  } else if (!nb::isinstance<nb::iterable>(modes)) {
    throw nb::type_error(
        (name + ": cannot take " + nb::repr(modes).c_str() + "; give True, or modes by name or number").c_str());
  } else {
    for (const nb::handle mode : modes) add(mode);
  }
  return chosen;
}

// (low, high), or (low, high, modes).
BoxChoice box_of(const char* name, nb::handle box) {
  const auto parts = Keywords::value_of<std::vector<nb::object>>(name, box);
  if (parts.size() != 2 && parts.size() != 3) refuse("box: give (low, high), or (low, high, modes)");
  BoxChoice chosen = {.lower = Keywords::value_of<double>(name, parts[0]),
                      .upper = Keywords::value_of<double>(name, parts[1])};
  if (parts.size() == 3) chosen.modes = modes_of(name, parts[2]);
  return chosen;
}

std::vector<std::string> list_of(const char* name, nb::handle words) {
  if (nb::isinstance<nb::str>(words)) return {Keywords::value_of<std::string>(name, words)};
  return Keywords::value_of<std::vector<std::string>>(name, words);
}

// A negative number is a double, for check_value() to refuse.
OptionValue whole_of(const char* name, nb::handle value) {
  std::uint64_t number = 0;
  if (nb::try_cast(value, number)) return number;
  return static_cast<double>(Keywords::value_of<std::int64_t>(name, value));
}

OptionValue value_of(const OptionRow& option, nb::handle value) {
  const char* const name = option.name.c_str();
  switch (option.kind) {
    case OptionKind::flag:
    case OptionKind::on_off:
      return Keywords::value_of<bool>(name, value);
    case OptionKind::whole:
    case OptionKind::bytes:
      return whole_of(name, value);
    case OptionKind::real:
    case OptionKind::seconds:
      return Keywords::value_of<double>(name, value);
    case OptionKind::loss:
      return to_string(read_loss(Keywords::value_of<std::string>(name, value)));
    case OptionKind::path:
      return Keywords::value_of<std::filesystem::path>(name, value).string();
    case OptionKind::words:
      return list_of(name, value);
    case OptionKind::modes:
      return modes_of(name, value);
    case OptionKind::box:
      return box_of(name, value);
    case OptionKind::model:
      return nb::cast<const CpdModel*>(value);
    case OptionKind::tensor:
      return nb::cast<const Tensor*>(value);
    case OptionKind::choice:
      break;
  }
  return Keywords::value_of<std::string>(name, value);
}

nb::list options_of_fits() {
  nb::list options;
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    nb::dict option;
    option["name"] = row.name;
    option["field"] = row.field_name();
    option["methods"] = row.methods;
    option["help"] = row.help;
    option["default"] = words_of_default(row);
    options.append(option);
  }
  return options;
}

}  // namespace

void bind_options(nb::module_& module) {
  module.def("options", options_of_fits, "The options of fit_cpd as the library's table has them.");
}

Compute read_compute(Keywords& words, Compute compute) {
  for (const Option<Compute>& row : compute_option_table()) {
    if (!words.has(row.name.c_str())) continue;
    const OptionValue value = value_of(row, words.take(row.name.c_str()));
    check_value(row, value, row.get({}));
    row.set(compute, value);
  }
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
  std::vector<GivenOption> given;
  for (const Option<CpdOptions>& row : cpd_option_table()) {
    const char* const name = row.name.c_str();
    if (words.has(name)) given.push_back({name, value_of(row, words.take(name))});
  }
  words.finish("CP models");
  CpdOptions options;
  options.rank = 0;
  options.compute.on_compile = warn_on_any_thread;
  set_options(options, given, tensor.summary());
  if (options.rank == 0 && options.initial == nullptr) refuse("rank: give the number of components, or `initial`");
  return options;
}

std::vector<RowConstraint> read_held(Keywords& words, const TensorSummary& tensor) {
  std::vector<RowConstraint> constraints;
  if (words.has("hold")) {
    constrain("hold", modes_of("hold", words.take("hold")), tensor, {.set = RowSet::held}, constraints);
  }
  return constraints;
}

}  // namespace blco::python
