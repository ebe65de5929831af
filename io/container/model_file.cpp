// Writes and reads model files.
#include "io/container/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/refuse.hpp"
#include "io/container/container_table.hpp"
#include "io/container/mode_data.hpp"
#include "io/hdf5/dataset_read.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "io/hdf5/hdf5_output.hpp"

namespace blco {
namespace {

constexpr std::uint32_t model_version = 1;
constexpr std::uint64_t max_model_rank = std::uint64_t{1} << 20;
constexpr std::uint64_t max_core_numbers = std::uint64_t{1} << 40;
constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t max_sweeps_kept = std::uint64_t{1} << 32;
constexpr std::uint64_t max_state_numbers = std::uint64_t{1} << 20;
constexpr double max_value_exponent = 1100;  // doubles have none beyond
constexpr std::uint64_t max_state_matrices = 16;
constexpr std::uint64_t max_options = 64;

const char* format_of(ModelKind kind) { return kind == ModelKind::cp ? model_format : tucker_format; }

bool are_finite(std::span<const double> numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

// What is wrong with the ranks, in words.
std::string rank_fault(const ModelFile& model) {
  if (model.kind == ModelKind::cp) {
    const bool suits = model.rank >= 1 && model.rank <= max_model_rank;
    return suits ? "" : "the rank is not from 1 to " + std::to_string(max_model_rank);
  }
  if (model.ranks.size() != model.shape.size()) return "it does not have one rank per mode";
  std::uint64_t numbers = 1;
  for (std::size_t n = 0; n < model.ranks.size(); ++n) {
    if (model.ranks[n] < 1 || model.ranks[n] > model.shape[n]) return "a rank is not from 1 to the mode's length";
    if (model.ranks[n] > max_core_numbers / numbers) return "the ranks are too large for a core";
    numbers *= model.ranks[n];
  }
  return {};
}

void check_model(const std::filesystem::path& path, const ModelFile& model, std::span<const double> core) {
  std::string fault = header_fault(model);
  if (fault.empty()) fault = rank_fault(model);
  if (fault.empty() && model.kind == ModelKind::cp && model.weights.size() != model.rank)
    fault = "it does not have one weight per component";
  if (fault.empty() && model.kind == ModelKind::tucker && core.size() != model.numbers())
    fault = "the core does not have the size that its ranks say";
  if (!fault.empty()) refuse(path.string() + ": cannot write the model: " + fault);
}

std::vector<std::uint64_t> columns_of(const ModelFile& model) {
  return model.kind == ModelKind::cp ? std::vector(model.shape.size(), model.rank) : model.ranks;
}

// Calls visit(first row, block) for all rows of a factor, in blocks of about 1 MiB.
template <class Visit>
void for_each_block(const ModelFile& model, std::size_t mode, const Visit& visit) {
  const std::uint64_t columns = model.columns(mode);
  const std::uint64_t max_rows = std::max<std::uint64_t>(1, block_bytes / (columns * sizeof(double)));
  std::vector<double> block;
  for (std::uint64_t first = 0; first < model.shape[mode]; first += max_rows) {
    block.resize(static_cast<std::size_t>(std::min(max_rows, model.shape[mode] - first) * columns));
    visit(first, block);
  }
}

void write_matrix(const Hdf5Place& place, hid_t group, const ModelFile& model, std::size_t mode,
                  const FactorRows& factor_rows) {
  const std::string name = std::to_string(mode);
  const std::uint64_t columns = model.columns(mode);
  const Hdf5Id dataset =
      create_dataset(place, group, name.c_str(), number_type<double>(), {model.shape[mode], columns});
  for_each_block(model, mode, [&](std::uint64_t first, std::vector<double>& block) {
    factor_rows(mode, first, block);
    const Selection rows(place, dataset.get(), {first, 0}, {block.size() / columns, columns}, name);
    checked(
        H5Dwrite(dataset.get(), number_type<double>(), rows.memory.get(), rows.file.get(), H5P_DEFAULT, block.data()),
        place, "cannot write factor", name);
  });
}

void write_state(const Hdf5Place& place, hid_t root, const ModelFile& model, const StateRows& state_rows) {
  if (model.state_numbers.empty() && model.state_matrices.empty()) return;
  const Hdf5Id state = create_group(place, root, "state");
  if (!model.state_matrices.empty()) write_texts(place, state.get(), "matrices", model.state_matrices);
  if (model.value_exponent != 0) {
    write_attribute(place, state.get(), "value_exponent", static_cast<double>(model.value_exponent));
  }
  if (!model.state_numbers.empty()) {
    write_dataset<double>(place, state.get(), "numbers", {model.state_numbers.size()}, model.state_numbers);
  }
  for (std::size_t matrix = 0; matrix < model.state_matrices.size(); ++matrix) {
    const Hdf5Id group = create_group(place, state.get(), model.state_matrices[matrix].c_str());
    for (std::size_t n = 0; n < model.shape.size(); ++n) {
      write_matrix(place, group.get(), model, n, [&](std::size_t mode, std::uint64_t first, std::span<double> rows) {
        state_rows(matrix, mode, first, rows);
      });
    }
  }
}

void write_histories(const Hdf5Place& place, hid_t root, const ModelFile& model) {
  const auto write = [&](const char* name, const std::vector<double>& history) {
    if (!history.empty()) write_dataset<double>(place, root, name, {history.size()}, history);
  };
  write("fit_history", model.fit_history);
  write("objective_history", model.objective_history);
}

void write_header(const Hdf5Place& place, hid_t root, const ModelFile& model) {
  write_text(place, root, "format", format_of(model.kind));
  write_attribute(place, root, "version", model_version);
  if (model.kind == ModelKind::cp) {
    write_attribute(place, root, "rank", model.rank);
  } else {
    write_attribute(place, root, "ranks", model.ranks);
  }
  write_attribute(place, root, "shape", model.shape);
  write_attribute(place, root, "fit", model.fit());
  if (model.explained) write_attribute(place, root, "explained", *model.explained);
  write_attribute(place, root, "sweeps", model.stated_sweeps != 0 ? model.stated_sweeps : model.sweeps());
  write_attribute(place, root, "seed", model.seed);
  write_text(place, root, "stop_reason", to_string(model.stop_reason));
  write_text(place, root, "precision", to_string(model.precision));
  if (model.ridge != 0) write_attribute(place, root, "ridge", model.ridge);
  if (model.found_ridge) write_attribute(place, root, "found_ridge", *model.found_ridge);
  write_text(place, root, "method", model.method);
  write_text(place, root, "loss", to_string(model.loss));
  if (!model.options.empty()) write_texts(place, root, "options", model.options);
  std::vector<std::string> constraints;
  for (const RowConstraint& constraint : without_empty(model.constraints)) constraints.push_back(to_string(constraint));
  if (!constraints.empty()) write_texts(place, root, "constraints", constraints);
  if (model.tensor_nnz != 0) {
    write_attribute(place, root, "tensor_nnz", model.tensor_nnz);
    write_attribute(place, root, "tensor_sum_of_squares", model.tensor_sum_of_squares);
  }
  if (!model.mode_names.empty()) write_texts(place, root, "mode_names", model.mode_names);
  write_reading(place, root, model.reading);
}

void write_contents(const Hdf5Place& place, hid_t root, const ModelFile& model, const ModelNumbers& numbers) {
  write_header(place, root, model);
  if (model.kind == ModelKind::cp) {
    write_dataset<double>(place, root, "weights", {model.rank}, model.weights);
  } else {
    write_dataset<double>(place, root, "core", model.ranks, numbers.core);
  }
  write_histories(place, root, model);
  const Hdf5Id group = create_group(place, root, "factors");
  for (std::size_t n = 0; n < model.shape.size(); ++n) write_matrix(place, group.get(), model, n, numbers.factor_rows);
  write_state(place, root, model, numbers.state_rows);
  write_labels(place, root, model.labels);
}

void check_model_format(const Hdf5Place& place, hid_t root, ModelKind kind) {
  const Hdf5Place wrong_file = {place.path, ErrorKind::invalid_argument};
  const bool is_cp = kind == ModelKind::cp;
  const std::string wanted = is_cp ? "a model" : "a Tucker model";
  const std::string remedy = is_cp ? "; give a model of blco-cpd" : "; give a model of blco-tucker";
  if (!has_attribute(place, root, "format")) {
    fail_at(wrong_file, "not " + wanted + ": it is HDF5, but has no attribute format" + remedy);
  }
  const std::string format = read_text(wrong_file, root, "format", max_format_bytes);
  if (format == container_format) fail_at(wrong_file, "it is a tensor, not " + wanted + remedy);
  if (format != format_of(kind)) {
    fail_at(wrong_file, "not " + wanted + ": its format is \"" + format + "\"" + remedy);
  }
  if (has_attribute(place, root, "version"))
    check_version(place, root, is_cp ? "model" : "Tucker model", model_version);
}

// `first_row` is the row of the first value, for values that are rows of several columns.
void require_finite(const Hdf5Place& place, std::span<const double> values, const std::string& name,
                    std::uint64_t columns = 0, std::uint64_t first_row = 0) {
  const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const auto at = static_cast<std::uint64_t>(bad - values.begin());
  const std::string where = columns == 0
                                ? std::to_string(at)
                                : std::to_string(first_row + at / columns) + ", " + std::to_string(at % columns);
  fail_at(place, name + "[" + where + "] is " + std::to_string(*bad) + ", but the numbers of a model must be finite");
}

double read_finite(const Hdf5Place& place, hid_t root, const std::string& name) {
  const double number = read_real(place, root, name.c_str());
  if (!std::isfinite(number)) fail_at(place, "the attribute " + name + " is not finite");
  return number;
}

// The attribute as `parse` reads it, or, if it is absent, what there was.
template <class Value, class Parse>
void read_word(const Hdf5Place& place, hid_t root, const char* name, const char* values, const Parse& parse,
               Value& value) {
  if (!has_attribute(place, root, name)) return;
  const std::string word = read_text(place, root, name, max_word_bytes);
  const auto parsed = parse(word);
  if (!parsed) fail_at(place, std::string("the attribute ") + name + " is \"" + word + "\", " + values);
  value = *parsed;
}

void read_constraints(const Hdf5Place& place, hid_t root, ModelFile& model) {
  if (!has_attribute(place, root, "constraints")) return;
  constexpr auto most = static_cast<std::uint64_t>(max_order);
  for (const std::string& text : read_texts(place, root, "constraints", most, max_word_bytes)) {
    const std::optional<RowConstraint> constraint = parse_constraint(text);
    if (!constraint) fail_at(place, "a text of the attribute constraints is \"" + text + "\", which is no constraint");
    model.constraints.push_back(*constraint);
  }
  if (model.constraints.size() != model.shape.size()) fail_at(place, "constraints and shape differ in length");
}

void read_header(const Hdf5Place& place, hid_t root, ModelFile& model) {
  constexpr auto most_modes = static_cast<std::uint64_t>(max_order);
  model.shape = read_integers(place, root, "shape", most_modes);
  if (model.kind == ModelKind::cp) {
    model.rank = read_integer(place, root, "rank");
  } else {
    model.ranks = read_integers(place, root, "ranks", most_modes);
    model.method = "hooi";
  }
  if (std::ranges::find(model.shape, 0) != model.shape.end()) fail_at(place, "the shape has a mode of length 0");
  if (const std::string fault = rank_fault(model); !fault.empty()) fail_at(place, fault);
  model.reading = read_reading(place, root, model.shape.size());
  if (has_attribute(place, root, "fit")) read_finite(place, root, "fit");
  if (has_attribute(place, root, "explained")) model.explained = read_finite(place, root, "explained");
  if (has_attribute(place, root, "sweeps")) model.stated_sweeps = read_integer(place, root, "sweeps");
  if (has_attribute(place, root, "seed")) model.seed = read_integer(place, root, "seed");
  if (has_attribute(place, root, "stop_reason")) {
    model.stop_reason = parse_stop_reason(read_text(place, root, "stop_reason", max_word_bytes));
  }
  model.states_precision = has_attribute(place, root, "precision");
  read_word(place, root, "precision", "not f64, f32 or mixed", parse_precision, model.precision);
  if (has_attribute(place, root, "ridge")) {
    model.ridge = read_real(place, root, "ridge");
    if (!std::isfinite(model.ridge) || (model.ridge < 0 && model.ridge != -1))
      fail_at(place, "the attribute ridge is neither a number of 0 or more nor -1");
  }
  if (has_attribute(place, root, "found_ridge")) {
    model.found_ridge = read_real(place, root, "found_ridge");
    if (!(std::isfinite(*model.found_ridge) && *model.found_ridge >= 0))
      fail_at(place, "the attribute found_ridge is no number of 0 or more");
  }
  if (has_attribute(place, root, "method")) model.method = read_text(place, root, "method", max_word_bytes);
  read_word(place, root, "loss", "which is no loss", parse_loss, model.loss);
  if (has_attribute(place, root, "options")) {
    model.options = read_texts(place, root, "options", max_options, max_word_bytes);
  }
  read_constraints(place, root, model);
  if (has_attribute(place, root, "tensor_nnz")) model.tensor_nnz = read_integer(place, root, "tensor_nnz");
  if (has_attribute(place, root, "tensor_sum_of_squares")) {
    model.tensor_sum_of_squares = read_finite(place, root, "tensor_sum_of_squares");
  }
  if (has_attribute(place, root, "mode_names")) {
    model.mode_names = read_texts(place, root, "mode_names", most_modes, max_name_bytes);
    if (model.mode_names.size() != model.shape.size()) fail_at(place, "mode_names and shape differ in length");
  }
}

// A list of finite numbers, or none.
std::vector<double> read_list(const Hdf5Place& place, hid_t root, const char* name, std::uint64_t max_numbers,
                              std::uint64_t file_bytes) {
  if (!has_link(place, root, name)) return {};
  const Extents extents = extents_of_dataset(place, root, name);
  if (extents == Extents{0}) return {};
  if (extents.size() != 1 || extents[0] > max_numbers) fail_at(place, std::string(name) + " is not a list of numbers");
  std::vector<double> numbers = read_dataset<double>(place, root, name, extents, file_bytes);
  require_finite(place, numbers, name);
  return numbers;
}

std::vector<Hdf5Id> open_matrices(const Hdf5Place& place, hid_t parent, const std::string& name,
                                  std::uint64_t file_bytes, const ModelFile& model) {
  if (!has_link(place, parent, name.c_str())) fail_at(place, "the group " + name + " is missing");
  const Hdf5Id group =
      own(H5Gopen2(parent, name.c_str(), H5P_DEFAULT), H5Gclose, place, ("cannot open the group " + name).c_str());
  std::vector<Hdf5Id> matrices;
  for (std::size_t n = 0; n < model.shape.size(); ++n) {
    matrices.push_back(open_checked_dataset(place, group.get(), std::to_string(n).c_str(), /*reals=*/true,
                                            {model.shape[n], model.columns(n)}, file_bytes));
  }
  return matrices;
}

// The matrices of the state, name by name; fills in the header.
std::vector<std::vector<Hdf5Id>> open_state(const Hdf5Place& place, hid_t root, std::uint64_t file_bytes,
                                            ModelFile& model) {
  std::vector<std::vector<Hdf5Id>> matrices;
  if (!has_link(place, root, "state")) return matrices;
  const Hdf5Id state = own(H5Gopen2(root, "state", H5P_DEFAULT), H5Gclose, place, "cannot open the group state");
  model.state_numbers = read_list(place, root, "state/numbers", max_state_numbers, file_bytes);
  if (model.state_numbers.empty()) fail_at(place, "the list state/numbers is missing");
  if (has_attribute(place, state.get(), "value_exponent")) {
    const double exponent = read_real(place, state.get(), "value_exponent");
    if (!(std::abs(exponent) <= max_value_exponent && exponent == std::trunc(exponent))) {
      fail_at(place, "the attribute value_exponent of state is no whole number from -1100 to 1100");
    }
    model.value_exponent = static_cast<int>(exponent);
  }
  if (!has_attribute(place, state.get(), "matrices")) return matrices;
  model.state_matrices = read_texts(place, state.get(), "matrices", max_state_matrices, max_word_bytes);
  for (const std::string& name : model.state_matrices) {
    matrices.push_back(open_matrices(place, state.get(), name, file_bytes, model));
  }
  return matrices;
}

}  // namespace

std::uint64_t ModelFile::numbers() const {
  if (kind == ModelKind::cp) return rank;
  return std::accumulate(ranks.begin(), ranks.end(), std::uint64_t{1}, std::multiplies<>());
}

std::uint64_t model_file_bytes(std::span<const std::uint64_t> shape, std::span<const std::uint64_t> columns,
                               std::uint64_t numbers, std::uint64_t label_bytes, std::uint64_t state_matrices) {
  for (std::size_t n = 0; n < shape.size(); ++n) numbers += (1 + state_matrices) * shape[n] * columns[n];
  return numbers * sizeof(double) + label_bytes + Hdf5Output::few_metadata_bytes;
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model) {
  write_model_file(path, model, model.factors, model.core);
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model,
                      std::span<const std::vector<double>> factors, std::span<const double> core,
                      const OutputClaim* claim) {
  check_model(path, model, core);
  std::string fault = factor_fault(model, columns_of(model), factors);
  if (fault.empty() && !(std::ranges::all_of(factors, are_finite) && are_finite(core) && are_finite(model.weights)))
    fault = "a number is not finite";
  if (!fault.empty()) refuse(path.string() + ": cannot write the model: " + fault);
  const auto factor_rows = [&](std::size_t mode, std::uint64_t first_row, std::span<double> rows) {
    const auto first = static_cast<std::ptrdiff_t>(first_row * model.columns(mode));
    std::copy_n(factors[mode].begin() + first, rows.size(), rows.begin());
  };
  write_model_file(path, model, {.factor_rows = factor_rows, .core = core}, claim);
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model, const ModelNumbers& numbers,
                      const OutputClaim* claim) {
  check_model(path, model, numbers.core);
  const QuietHdf5 quiet;
  Hdf5Output output(
      {path, ErrorKind::io}, TemporaryFile(path, claim),
      Hdf5Output::few_metadata_bytes + padded_text_bytes(model.mode_names) + padded_text_bytes(model.reading.columns));
  const std::uint64_t lists = model.fit_history.size() + model.objective_history.size() + model.state_numbers.size();
  output.reserve(model_file_bytes(model.shape, columns_of(model), model.numbers(), memory_bytes(model.labels),
                                  model.state_matrices.size()) -
                 Hdf5Output::few_metadata_bytes + lists * sizeof(double));
  write_contents(output.place(), output.root(), model, numbers);
  output.publish();
}

struct ModelFileReader::Impl {
  Impl(const std::filesystem::path& path, ModelKind kind)
      : place{path, ErrorKind::corrupt}, file(open_hdf5_file({path, ErrorKind::io}, &file_bytes)) {
    check_model_format(place, file.get(), kind);
    header.kind = kind;
    read_header(place, file.get(), header);
    if (kind == ModelKind::cp) header.weights = read_numbers("weights", {header.rank});
    header.fit_history = read_list(place, file.get(), "fit_history", max_sweeps_kept, file_bytes);
    header.objective_history = read_list(place, file.get(), "objective_history", max_sweeps_kept, file_bytes);
    factors = open_matrices(place, file.get(), "factors", file_bytes, header);
    state = open_state(place, file.get(), file_bytes, header);
    label_bytes = find_label_bytes(place, file.get(), header.shape, file_bytes);
  }

  const QuietHdf5 quiet;
  Hdf5Place place;
  std::uint64_t file_bytes = 0;
  Hdf5Id file;
  ModelFile header;
  std::vector<std::uint64_t> label_bytes;
  std::vector<Hdf5Id> factors;
  std::vector<std::vector<Hdf5Id>> state;

  std::vector<double> read_numbers(const std::string& name, const Extents& extents) const {
    std::vector<double> numbers = read_dataset<double>(place, file.get(), name.c_str(), extents, file_bytes);
    require_finite(place, numbers, name);
    return numbers;
  }
  void read_matrix(hid_t dataset, std::size_t mode, const std::string& name, const FactorRowsSink& sink) const;
};

ModelFileReader::ModelFileReader(const std::filesystem::path& path, ModelKind kind)
    : impl_(std::make_unique<Impl>(path, kind)) {}
ModelFileReader::~ModelFileReader() = default;

const ModelFile& ModelFileReader::header() const { return impl_->header; }

const std::vector<std::uint64_t>& ModelFileReader::label_bytes() const { return impl_->label_bytes; }

std::vector<Labels> ModelFileReader::read_labels() const {
  return blco::read_labels(impl_->place, impl_->file.get(), impl_->header.shape, impl_->file_bytes);
}

std::vector<double> ModelFileReader::read_core() const { return impl_->read_numbers("core", impl_->header.ranks); }

void ModelFileReader::Impl::read_matrix(hid_t dataset, std::size_t mode, const std::string& name,
                                        const FactorRowsSink& sink) const {
  const std::uint64_t columns = header.columns(mode);
  for_each_block(header, mode, [&](std::uint64_t first, std::vector<double>& block) {
    const Selection rows(place, dataset, {first, 0}, {block.size() / columns, columns}, name);
    read_from_dataset(place, dataset, number_type<double>(), rows.memory.get(), rows.file.get(), block.data(), name);
    require_finite(place, block, name, columns, first);
    sink(mode, first, block);
  });
}

void ModelFileReader::read_factors(const FactorRowsSink& sink) const {
  for (std::size_t mode = 0; mode < impl_->header.shape.size(); ++mode) {
    impl_->read_matrix(impl_->factors[mode].get(), mode, "factors/" + std::to_string(mode), sink);
  }
}

void ModelFileReader::read_state(const StateRowsSink& sink) const {
  for (std::size_t matrix = 0; matrix < impl_->state.size(); ++matrix) {
    const std::string name = "state/" + impl_->header.state_matrices[matrix] + "/";
    for (std::size_t mode = 0; mode < impl_->header.shape.size(); ++mode) {
      impl_->read_matrix(
          impl_->state[matrix][mode].get(), mode, name + std::to_string(mode),
          [&](std::size_t n, std::uint64_t first, std::span<const double> rows) { sink(matrix, n, first, rows); });
    }
  }
}

ModelFile read_model_file(const std::filesystem::path& path, ModelKind kind) {
  const ModelFileReader reader(path, kind);
  ModelFile model = reader.header();
  if (kind == ModelKind::tucker) model.core = reader.read_core();
  model.labels = reader.read_labels();
  for (std::size_t n = 0; n < model.shape.size(); ++n) {
    model.factors.emplace_back(static_cast<std::size_t>(model.shape[n] * model.columns(n)));
  }
  reader.read_factors([&model](std::size_t mode, std::uint64_t first_row, std::span<const double> rows) {
    const auto first = static_cast<std::ptrdiff_t>(first_row * model.columns(mode));
    std::ranges::copy(rows, model.factors[mode].begin() + first);
  });
  return model;
}

std::optional<ModelKind> model_kind(const std::filesystem::path& path) noexcept {
  for (const ModelKind kind : {ModelKind::cp, ModelKind::tucker}) {
    if (has_format(path, format_of(kind))) return kind;
  }
  return std::nullopt;
}

}  // namespace blco
