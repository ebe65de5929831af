// Writes and reads model files.
#include "io/container/model_file.hpp"

#include <algorithm>
#include <cmath>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/loss.hpp"
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
constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;
constexpr std::uint64_t max_sweeps_kept = std::uint64_t{1} << 32;
constexpr std::uint64_t max_state_numbers = std::uint64_t{1} << 20;
constexpr double max_value_exponent = 1100;  // doubles have none beyond
constexpr std::uint64_t max_state_matrices = 16;

using Factors = std::span<const std::vector<double>>;

void check_model(const std::filesystem::path& path, const ModelFile& model) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) refuse(path.string() + ": cannot write the model: " + what);
  };
  const std::size_t order = model.shape.size();
  require(order >= 1 && order <= static_cast<std::size_t>(max_order), "a model has 1 to 16 modes");
  require(model.rank >= 1 && model.weights.size() == model.rank, "it does not have one weight per component");
  for (const std::uint64_t length : model.shape) require(length >= 1, "the length of a mode is 0");
  require(model.mode_names.empty() || model.mode_names.size() == order, "it does not have one name per mode");
  require(model.constraints.empty() || model.constraints.size() == order, "it does not have one constraint per mode");
  require(model.labels.empty() || model.labels.size() == order, "it does not have one list of labels per mode");
  for (std::size_t n = 0; n < model.labels.size(); ++n) {
    require(model.labels[n].empty() || model.labels[n].size() == model.shape[n],
            "a mode does not have one label per coordinate");
  }
}

void check_factors(const std::filesystem::path& path, const ModelFile& model, Factors factors) {
  bool fitting = factors.size() == model.shape.size();
  for (std::size_t n = 0; fitting && n < model.shape.size(); ++n) {
    const std::uint64_t numbers = factors[n].size();
    fitting = numbers / model.rank == model.shape[n] && numbers % model.rank == 0;
  }
  if (!fitting) {
    refuse(path.string() + ": cannot write the model: it does not have one factor of mode length x rank per mode");
  }
}

// Calls visit(first row, block) for all rows of a factor, in blocks of about 1 MiB.
template <class Visit>
void for_each_block(const ModelFile& model, std::size_t mode, const Visit& visit) {
  const std::uint64_t max_rows = std::max<std::uint64_t>(1, block_bytes / (model.rank * sizeof(double)));
  std::vector<double> block;
  for (std::uint64_t first = 0; first < model.shape[mode]; first += max_rows) {
    block.resize(static_cast<std::size_t>(std::min(max_rows, model.shape[mode] - first) * model.rank));
    visit(first, block);
  }
}

void write_matrix(const Hdf5Place& place, hid_t group, const ModelFile& model, std::size_t mode,
                  const FactorRows& factor_rows) {
  const std::string name = std::to_string(mode);
  const Hdf5Id dataset =
      create_dataset(place, group, name.c_str(), number_type<double>(), {model.shape[mode], model.rank});
  for_each_block(model, mode, [&](std::uint64_t first, std::vector<double>& block) {
    factor_rows(mode, first, block);
    const Selection rows(place, dataset.get(), {first, 0}, {block.size() / model.rank, model.rank}, name);
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

void write_contents(const Hdf5Place& place, hid_t root, const ModelFile& model, const FactorRows& factor_rows,
                    const StateRows& state_rows) {
  write_text(place, root, "format", model_format);
  write_attribute(place, root, "version", model_version);
  write_attribute(place, root, "rank", model.rank);
  write_attribute(place, root, "shape", model.shape);
  write_attribute(place, root, "fit", model.fit);
  if (model.explained) write_attribute(place, root, "explained", *model.explained);
  write_attribute(place, root, "sweeps", model.sweeps);
  write_attribute(place, root, "seed", model.seed);
  write_text(place, root, "stop_reason", model.stop_reason);
  if (!model.precision.empty()) write_text(place, root, "precision", model.precision);
  if (model.ridge != 0) write_attribute(place, root, "ridge", model.ridge);
  if (model.found_ridge) write_attribute(place, root, "found_ridge", *model.found_ridge);
  write_text(place, root, "method", model.method);
  write_text(place, root, "loss", model.loss);
  if (!model.constraints.empty()) write_texts(place, root, "constraints", model.constraints);
  if (model.tensor_nnz != 0) {
    write_attribute(place, root, "tensor_nnz", model.tensor_nnz);
    write_attribute(place, root, "tensor_sum_of_squares", model.tensor_sum_of_squares);
  }
  if (!model.mode_names.empty()) write_texts(place, root, "mode_names", model.mode_names);
  write_reading(place, root, model.reading);
  write_dataset<double>(place, root, "weights", {model.rank}, model.weights);
  if (!model.fit_history.empty()) {
    write_dataset<double>(place, root, "fit_history", {model.fit_history.size()}, model.fit_history);
  }
  if (!model.objective_history.empty()) {
    write_dataset<double>(place, root, "objective_history", {model.objective_history.size()}, model.objective_history);
  }
  const Hdf5Id group = create_group(place, root, "factors");
  for (std::size_t n = 0; n < model.shape.size(); ++n) write_matrix(place, group.get(), model, n, factor_rows);
  write_state(place, root, model, state_rows);
  write_labels(place, root, model.labels);
}

void check_model_format(const Hdf5Place& place, hid_t root) {
  const Hdf5Place wrong_file = {place.path, ErrorKind::invalid_argument};
  if (!has_attribute(place, root, "format")) {
    fail_at(wrong_file, "not a model: it is HDF5, but has no attribute format; give a model of blco-cpd");
  }
  const std::string format = read_text(wrong_file, root, "format", max_format_bytes);
  if (format == container_format) fail_at(wrong_file, "it is a tensor, not a model; give a model of blco-cpd");
  if (format != model_format)
    fail_at(wrong_file, "not a model: its format is \"" + format + "\"; give a model of blco-cpd");
  if (has_attribute(place, root, "version")) check_version(place, root, "model", model_version);
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

void read_attributes(const Hdf5Place& place, hid_t root, ModelFile& model) {
  model.rank = read_integer(place, root, "rank");
  model.shape = read_integers(place, root, "shape", static_cast<std::uint64_t>(max_order));
  if (model.rank == 0 || model.rank > max_model_rank) {
    fail_at(place, "the rank is not from 1 to " + std::to_string(max_model_rank));
  }
  if (std::find(model.shape.begin(), model.shape.end(), 0) != model.shape.end()) {
    fail_at(place, "the shape has a mode of length 0");
  }
  model.reading = read_reading(place, root, model.shape.size());
  if (has_attribute(place, root, "fit")) {
    model.fit = read_real(place, root, "fit");
    if (!std::isfinite(model.fit)) fail_at(place, "the attribute fit is not finite");
  }
  if (has_attribute(place, root, "explained")) {
    model.explained = read_real(place, root, "explained");
    if (!std::isfinite(*model.explained)) fail_at(place, "the attribute explained is not finite");
  }
  if (has_attribute(place, root, "sweeps")) model.sweeps = read_integer(place, root, "sweeps");
  if (has_attribute(place, root, "seed")) model.seed = read_integer(place, root, "seed");
  if (has_attribute(place, root, "stop_reason")) {
    model.stop_reason = read_text(place, root, "stop_reason", max_word_bytes);
  }
  if (has_attribute(place, root, "precision")) {
    model.precision = read_text(place, root, "precision", max_word_bytes);
    if (model.precision != "f64" && model.precision != "f32" && model.precision != "mixed") {
      fail_at(place, "the attribute precision is \"" + model.precision + "\", not f64, f32 or mixed");
    }
  }
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
  if (has_attribute(place, root, "loss")) model.loss = read_text(place, root, "loss", max_word_bytes);
  if (!parse_loss(model.loss)) fail_at(place, "the attribute loss is \"" + model.loss + "\", which is no loss");
  if (has_attribute(place, root, "constraints")) {
    model.constraints = read_texts(place, root, "constraints", static_cast<std::uint64_t>(max_order), max_word_bytes);
    if (model.constraints.size() != model.shape.size()) fail_at(place, "constraints and shape differ in length");
  }
  if (has_attribute(place, root, "tensor_nnz")) model.tensor_nnz = read_integer(place, root, "tensor_nnz");
  if (has_attribute(place, root, "tensor_sum_of_squares")) {
    model.tensor_sum_of_squares = read_real(place, root, "tensor_sum_of_squares");
    if (!std::isfinite(model.tensor_sum_of_squares))
      fail_at(place, "the attribute tensor_sum_of_squares is not finite");
  }
  if (has_attribute(place, root, "mode_names")) {
    model.mode_names = read_texts(place, root, "mode_names", static_cast<std::uint64_t>(max_order), max_name_bytes);
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
                                            {model.shape[n], model.rank}, file_bytes));
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

std::uint64_t model_file_bytes(std::span<const std::uint64_t> shape, std::uint64_t rank, std::uint64_t label_bytes,
                               std::uint64_t state_matrices) {
  std::uint64_t numbers = rank;
  for (const std::uint64_t length : shape) numbers += (1 + state_matrices) * length * rank;
  return numbers * sizeof(double) + label_bytes + Hdf5Output::few_metadata_bytes;
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model, Factors factors,
                      const OutputClaim* claim) {
  if (factors.empty()) factors = model.factors;
  check_model(path, model);
  check_factors(path, model, factors);
  const auto factor_rows = [&](std::size_t mode, std::uint64_t first_row, std::span<double> rows) {
    std::copy_n(factors[mode].begin() + static_cast<std::ptrdiff_t>(first_row * model.rank), rows.size(), rows.begin());
  };
  write_model_file(path, model, factor_rows, {}, claim);
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model, const FactorRows& factor_rows,
                      const StateRows& state_rows, const OutputClaim* claim) {
  check_model(path, model);
  const QuietHdf5 quiet;
  Hdf5Output output(
      {path, ErrorKind::io}, TemporaryFile(path, claim),
      Hdf5Output::few_metadata_bytes + padded_text_bytes(model.mode_names) + padded_text_bytes(model.reading.columns));
  const std::uint64_t lists = model.fit_history.size() + model.objective_history.size() + model.state_numbers.size();
  output.reserve(model_file_bytes(model.shape, model.rank, memory_bytes(model.labels), model.state_matrices.size()) -
                 Hdf5Output::few_metadata_bytes + lists * sizeof(double));
  write_contents(output.place(), output.root(), model, factor_rows, state_rows);
  output.publish();
}

struct ModelFileReader::Impl {
  explicit Impl(const std::filesystem::path& path)
      : place{path, ErrorKind::corrupt}, file(open_hdf5_file({path, ErrorKind::io}, &file_bytes)) {
    check_model_format(place, file.get());
    read_attributes(place, file.get(), header);
    header.weights = read_dataset<double>(place, file.get(), "weights", {header.rank}, file_bytes);
    require_finite(place, header.weights, "weights");
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

  void read_matrix(hid_t dataset, std::size_t mode, const std::string& name, const FactorRowsSink& sink) const;
};

ModelFileReader::ModelFileReader(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
ModelFileReader::~ModelFileReader() = default;

const ModelFile& ModelFileReader::header() const { return impl_->header; }

const std::vector<std::uint64_t>& ModelFileReader::label_bytes() const { return impl_->label_bytes; }

std::vector<Labels> ModelFileReader::read_labels() const {
  return blco::read_labels(impl_->place, impl_->file.get(), impl_->header.shape, impl_->file_bytes);
}

void ModelFileReader::Impl::read_matrix(hid_t dataset, std::size_t mode, const std::string& name,
                                        const FactorRowsSink& sink) const {
  for_each_block(header, mode, [&](std::uint64_t first, std::vector<double>& block) {
    const Selection rows(place, dataset, {first, 0}, {block.size() / header.rank, header.rank}, name);
    read_from_dataset(place, dataset, number_type<double>(), rows.memory.get(), rows.file.get(), block.data(), name);
    require_finite(place, block, name, header.rank, first);
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

ModelFile read_model_file(const std::filesystem::path& path) {
  const ModelFileReader reader(path);
  ModelFile model = reader.header();
  model.labels = reader.read_labels();
  for (const std::uint64_t length : model.shape) {
    model.factors.emplace_back(static_cast<std::size_t>(length * model.rank));
  }
  reader.read_factors([&model](std::size_t mode, std::uint64_t first_row, std::span<const double> rows) {
    const auto first = model.factors[mode].begin() + static_cast<std::ptrdiff_t>(first_row * model.rank);
    std::copy(rows.begin(), rows.end(), first);
  });
  return model;
}

bool is_model_file(const std::filesystem::path& path) noexcept { return has_format(path, model_format); }

}  // namespace blco
