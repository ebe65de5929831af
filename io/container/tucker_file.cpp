// Writes and reads Tucker models, each array in one piece.
#include "io/container/tucker_file.hpp"

#include <algorithm>
#include <cmath>

#include "blco/error.hpp"
#include "blco/layout.hpp"
#include "blco/refuse.hpp"
#include "io/container/container_table.hpp"
#include "io/container/mode_data.hpp"
#include "io/hdf5/hdf5_data.hpp"
#include "io/hdf5/hdf5_output.hpp"

namespace blco {
namespace {

constexpr std::uint32_t tucker_version = 1;
constexpr auto max_modes = static_cast<std::uint64_t>(max_order);

// What is wrong with the sizes, or null.
const char* size_problem(const TuckerFile& model) {
  const std::size_t order = model.shape.size();
  if (order < 1 || order > max_modes) return "a model has 1 to 16 modes";
  if (model.ranks.size() != order) return "it does not have one rank per mode";
  if (!model.mode_names.empty() && model.mode_names.size() != order) return "it does not have one name per mode";
  for (std::size_t n = 0; n < order; ++n) {
    if (model.ranks[n] < 1 || model.ranks[n] > model.shape[n]) return "a rank is not from 1 to the mode's length";
  }
  return nullptr;
}

// The numbers of the core.
std::uint64_t core_numbers(const Hdf5Place& place, const std::vector<std::uint64_t>& ranks) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;
  std::uint64_t numbers = 1;
  for (const std::uint64_t rank : ranks) {
    if (rank > most / numbers) fail_at(place, "the ranks are too large for a core");
    numbers *= rank;
  }
  return numbers;
}

bool is_finite(const std::vector<double>& numbers) {
  return std::ranges::all_of(numbers, [](double number) { return std::isfinite(number); });
}

std::vector<double> read_numbers(const Hdf5Place& place, hid_t root, const std::string& name, const Extents& extents,
                                 std::uint64_t file_bytes) {
  std::vector<double> numbers = read_dataset<double>(place, root, name.c_str(), extents, file_bytes);
  if (!is_finite(numbers)) {
    fail_at(place, "a number of " + name + " is not finite");
  }
  return numbers;
}

void check_tucker_format(const Hdf5Place& place, hid_t root) {
  const Hdf5Place wrong_file = {place.path, ErrorKind::invalid_argument};
  const bool known = has_attribute(place, root, "format");
  if (!known || read_text(wrong_file, root, "format", max_format_bytes) != tucker_format) {
    fail_at(wrong_file, "not a Tucker model; give a model of blco-tucker");
  }
  check_version(place, root, "Tucker model", tucker_version);
}

// All but core, factors and labels.
TuckerFile read_header(const Hdf5Place& place, hid_t root, std::uint64_t file_bytes) {
  check_tucker_format(place, root);
  TuckerFile model;
  model.shape = read_integers(place, root, "shape", max_modes);
  model.ranks = read_integers(place, root, "ranks", max_modes);
  if (has_attribute(place, root, "mode_names")) {
    model.mode_names = read_texts(place, root, "mode_names", max_modes, max_name_bytes);
  }
  if (const char* const problem = size_problem(model)) fail_at(place, problem);
  model.seed = read_integer(place, root, "seed");
  model.method = read_text(place, root, "method", max_word_bytes);
  model.stop_reason = read_text(place, root, "stop_reason", max_word_bytes);
  model.tensor_nnz = read_integer(place, root, "tensor_nnz");
  model.tensor_sum_of_squares = read_real(place, root, "tensor_sum_of_squares");
  core_numbers(place, model.ranks);
  const Extents extents = extents_of_dataset(place, root, "fit_history");
  if (extents.size() != 1) fail_at(place, "fit_history is not a list of numbers");
  model.fit_history = read_numbers(place, root, "fit_history", extents, file_bytes);
  return model;
}

}  // namespace

std::uint64_t tucker_file_bytes(const std::vector<std::uint64_t>& shape, const std::vector<std::uint64_t>& ranks,
                                std::uint64_t label_bytes) {
  std::uint64_t core = 1;
  std::uint64_t numbers = 0;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    core *= ranks[n];
    numbers += shape[n] * ranks[n];
  }
  return (core + numbers) * sizeof(double) + label_bytes + Hdf5Output::few_metadata_bytes;
}

void write_tucker_file(const std::filesystem::path& path, const TuckerFile& model, const OutputClaim* claim) {
  const auto require = [&](bool holds, const char* what) {
    if (!holds) refuse(path.string() + ": cannot write the model: " + what);
  };
  if (const char* const problem = size_problem(model)) require(false, problem);
  std::uint64_t numbers = core_numbers({path, ErrorKind::invalid_argument}, model.ranks);
  require(model.core.size() == numbers, "the core does not have the size that its ranks say");
  require(model.factors.size() == model.shape.size(), "it does not have one matrix per mode");
  for (std::size_t n = 0; n < model.shape.size(); ++n) {
    require(model.factors[n].size() == model.shape[n] * model.ranks[n],
            "the size of a matrix is not its mode's length times its rank");
    numbers += model.factors[n].size();
  }
  require(is_finite(model.core) && std::ranges::all_of(model.factors, is_finite), "a number is not finite");
  const QuietHdf5 quiet;
  Hdf5Output output({path, ErrorKind::io}, TemporaryFile(path, claim),
                    Hdf5Output::few_metadata_bytes + padded_text_bytes(model.mode_names));
  output.reserve((numbers + model.fit_history.size()) * sizeof(double) + memory_bytes(model.labels));
  const Hdf5Place& place = output.place();
  const hid_t root = output.root();
  write_text(place, root, "format", tucker_format);
  write_attribute(place, root, "version", tucker_version);
  write_attribute(place, root, "shape", model.shape);
  write_attribute(place, root, "ranks", model.ranks);
  write_attribute(place, root, "seed", model.seed);
  write_text(place, root, "method", model.method);
  write_text(place, root, "stop_reason", model.stop_reason);
  write_attribute(place, root, "tensor_nnz", model.tensor_nnz);
  write_attribute(place, root, "tensor_sum_of_squares", model.tensor_sum_of_squares);
  if (!model.mode_names.empty()) write_texts(place, root, "mode_names", model.mode_names);
  write_dataset<double>(place, root, "core", model.ranks, model.core);
  write_dataset<double>(place, root, "fit_history", {model.fit_history.size()}, model.fit_history);
  {
    const Hdf5Id group = create_group(place, root, "factors");
    for (std::size_t n = 0; n < model.shape.size(); ++n) {
      write_dataset<double>(place, group.get(), std::to_string(n).c_str(), {model.shape[n], model.ranks[n]},
                            model.factors[n]);
    }
  }
  write_labels(place, root, model.labels);
  output.publish();
}

TuckerFile read_tucker_file(const std::filesystem::path& path) {
  const QuietHdf5 quiet;
  const Hdf5Place place{path, ErrorKind::corrupt};
  std::uint64_t file_bytes = 0;
  const Hdf5Id file = open_hdf5_file({path, ErrorKind::io}, &file_bytes);
  const hid_t root = file.get();
  TuckerFile model = read_header(place, root, file_bytes);
  model.core = read_numbers(place, root, "core", model.ranks, file_bytes);
  for (std::size_t n = 0; n < model.shape.size(); ++n) {
    model.factors.push_back(
        read_numbers(place, root, "factors/" + std::to_string(n), {model.shape[n], model.ranks[n]}, file_bytes));
  }
  model.labels = read_labels(place, root, model.shape, file_bytes);
  return model;
}

TuckerFile read_tucker_header(const std::filesystem::path& path, std::vector<std::uint64_t>& label_bytes) {
  const QuietHdf5 quiet;
  const Hdf5Place place{path, ErrorKind::corrupt};
  std::uint64_t file_bytes = 0;
  const Hdf5Id file = open_hdf5_file({path, ErrorKind::io}, &file_bytes);
  TuckerFile model = read_header(place, file.get(), file_bytes);
  label_bytes = find_label_bytes(place, file.get(), model.shape, file_bytes);
  return model;
}

bool is_tucker_file(const std::filesystem::path& path) noexcept { return has_format(path, tucker_format); }

}  // namespace blco
