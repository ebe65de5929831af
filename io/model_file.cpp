// Writes and reads model files.
#include "io/model_file.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <system_error>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "io/container_table.hpp"
#include "io/hdf5_data.hpp"
#include "io/hdf5_output.hpp"

namespace blco {
namespace {

constexpr std::uint32_t model_version = 1;
constexpr std::uint64_t max_model_rank = std::uint64_t{1} << 20;
constexpr std::uint64_t max_stop_reason_bytes = 256;
constexpr std::uint64_t max_sweeps_kept = std::uint64_t{1} << 32;

using Factors = std::span<const std::vector<double>>;

void check_model(const std::filesystem::path& path, const ModelFile& model, Factors factors) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) throw Error(ErrorKind::invalid_argument, path.string() + ": cannot write the model: " + what);
  };
  const std::size_t order = model.shape.size();
  require(order >= 1 && order <= static_cast<std::size_t>(max_order), "a model has 1 to 16 modes");
  require(model.rank >= 1 && model.weights.size() == model.rank, "rank and number of weights disagree");
  require(factors.size() == order, "there is not one factor per mode");
  for (std::size_t n = 0; n < order; ++n) {
    require(
        model.shape[n] >= 1 && factors[n].size() / model.rank == model.shape[n] && factors[n].size() % model.rank == 0,
        "a factor's size is not that of its mode times the rank");
  }
  require(model.mode_names.empty() || model.mode_names.size() == order, "there is not one name per mode");
}

void write_contents(const Hdf5Place& place, hid_t root, const ModelFile& model, Factors factors) {
  write_text(place, root, "format", model_format);
  write_attribute(place, root, "version", model_version);
  write_attribute(place, root, "rank", model.rank);
  write_attribute(place, root, "shape", model.shape);
  write_attribute(place, root, "fit", model.fit);
  write_attribute(place, root, "sweeps", model.sweeps);
  write_attribute(place, root, "seed", model.seed);
  write_text(place, root, "stop_reason", model.stop_reason);
  if (!model.mode_names.empty()) write_texts(place, root, "mode_names", model.mode_names);
  write_dataset<double>(place, root, "weights", {model.rank}, model.weights);
  if (!model.fit_history.empty()) {
    write_dataset<double>(place, root, "fit_history", {model.fit_history.size()}, model.fit_history);
  }
  const Hdf5Id group = create_group(place, root, "factors");
  for (std::size_t n = 0; n < factors.size(); ++n) {
    write_dataset<double>(place, group.get(), std::to_string(n).c_str(), {model.shape[n], model.rank}, factors[n]);
  }
}

void check_format(const Hdf5Place& place, hid_t root) {
  const Hdf5Place wrong_file = {place.path, ErrorKind::invalid_argument};
  if (!has_attribute(place, root, "format")) {
    fail_at(wrong_file, "HDF5, but not a model: it has no attribute format = \"blco-model\"");
  }
  const std::string format = read_text(wrong_file, root, "format", max_format_bytes);
  if (format == container_format) fail_at(wrong_file, "it is a tensor, not a model");
  if (format != model_format) fail_at(wrong_file, "not a model: its format is \"" + format + "\"");
  if (!has_attribute(place, root, "version")) return;
  const std::uint64_t version = read_integer(place, root, "version");
  if (version != model_version) {
    fail_at(wrong_file, "the model has version " + std::to_string(version) + "; this build knows version " +
                            std::to_string(model_version) + " only");
  }
}

void require_finite(const Hdf5Place& place, const std::vector<double>& values, const std::string& name,
                    std::uint64_t columns) {
  const auto bad = std::find_if(values.begin(), values.end(), [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const auto at = static_cast<std::uint64_t>(bad - values.begin());
  const std::string where =
      columns == 0 ? std::to_string(at) : std::to_string(at / columns) + ", " + std::to_string(at % columns);
  fail_at(place, name + "[" + where + "] is " + std::to_string(*bad) + "; a model's numbers are finite");
}

void read_attributes(const Hdf5Place& place, hid_t root, ModelFile& model) {
  model.rank = read_integer(place, root, "rank");
  model.shape = read_integers(place, root, "shape", static_cast<std::uint64_t>(max_order));
  if (model.rank == 0 || model.rank > max_model_rank) {
    fail_at(place, "the rank is not from 1 to " + std::to_string(max_model_rank));
  }
  if (std::find(model.shape.begin(), model.shape.end(), 0) != model.shape.end()) {
    fail_at(place, "a mode's length is not at least 1");
  }
  if (has_attribute(place, root, "fit")) {
    model.fit = read_real(place, root, "fit");
    if (!std::isfinite(model.fit)) fail_at(place, "the attribute fit is not finite");
  }
  if (has_attribute(place, root, "sweeps")) model.sweeps = read_integer(place, root, "sweeps");
  if (has_attribute(place, root, "seed")) model.seed = read_integer(place, root, "seed");
  if (has_attribute(place, root, "stop_reason")) {
    model.stop_reason = read_text(place, root, "stop_reason", max_stop_reason_bytes);
  }
  if (has_attribute(place, root, "mode_names")) {
    model.mode_names = read_texts(place, root, "mode_names", static_cast<std::uint64_t>(max_order), max_name_bytes);
    if (model.mode_names.size() != model.shape.size()) fail_at(place, "mode_names and shape differ in length");
  }
}

void read_fit_history(const Hdf5Place& place, hid_t root, std::uint64_t file_bytes, ModelFile& model) {
  if (!has_link(place, root, "fit_history")) return;
  Extents extents;
  {
    const Hdf5Id dataset = open_dataset(place, root, "fit_history");
    extents = dataset_extents(place, dataset.get(), "fit_history");
  }
  if (extents == Extents{0}) return;
  if (extents.size() != 1 || extents[0] > max_sweeps_kept)
    fail_at(place, "fit_history is not a list of one fit per sweep");
  model.fit_history = read_dataset<double>(place, root, "fit_history", extents, file_bytes);
  require_finite(place, model.fit_history, "fit_history", 0);
}

void read_factors(const Hdf5Place& place, hid_t root, std::uint64_t file_bytes, ModelFile& model) {
  model.weights = read_dataset<double>(place, root, "weights", {model.rank}, file_bytes);
  require_finite(place, model.weights, "weights", 0);
  if (!has_link(place, root, "factors")) fail_at(place, "the group factors is missing");
  const Hdf5Id group = own(H5Gopen2(root, "factors", H5P_DEFAULT), H5Gclose, place, "cannot open the group factors");
  for (std::size_t n = 0; n < model.shape.size(); ++n) {
    const std::string name = std::to_string(n);
    model.factors.push_back(
        read_dataset<double>(place, group.get(), name.c_str(), {model.shape[n], model.rank}, file_bytes));
    require_finite(place, model.factors.back(), "factors/" + name, model.rank);
  }
}

}  // namespace

void write_model_file(const std::filesystem::path& path, const ModelFile& model) {
  write_model_file(path, model, model.factors);
}

void write_model_file(const std::filesystem::path& path, const ModelFile& model, Factors factors) {
  check_model(path, model, factors);
  const QuietHdf5 quiet;
  Hdf5Output output({path, ErrorKind::io});
  std::uint64_t bytes = sizeof(double) * (model.weights.size() + model.fit_history.size());
  for (const std::vector<double>& factor : factors) bytes += sizeof(double) * factor.size();
  output.reserve(bytes);
  write_contents(output.place(), output.root(), model, factors);
  output.publish();
}

ModelFile read_model_file(const std::filesystem::path& path) {
  const QuietHdf5 quiet;
  const Hdf5Id file = open_hdf5_file({path, ErrorKind::io});
  std::error_code failure;
  const std::uint64_t file_bytes = std::filesystem::file_size(path, failure);
  if (failure) throw Error(ErrorKind::io, path.string() + ": cannot read the file's size: " + failure.message());
  const Hdf5Place place = {path, ErrorKind::corrupt};
  check_format(place, file.get());
  ModelFile model;
  read_attributes(place, file.get(), model);
  read_factors(place, file.get(), file_bytes, model);
  read_fit_history(place, file.get(), file_bytes, model);
  return model;
}

bool is_model_file(const std::filesystem::path& path) noexcept {
  try {
    const QuietHdf5 quiet;
    const Hdf5Id file = open_hdf5_file({path, ErrorKind::io});
    const Hdf5Place place = {path, ErrorKind::corrupt};
    return has_attribute(place, file.get(), "format") &&
           read_text(place, file.get(), "format", max_format_bytes) == model_format;
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace blco
