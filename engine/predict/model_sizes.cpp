#include "engine/predict/model_sizes.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "io/container/model_file.hpp"

namespace blco {
namespace {

// Weights, factors and the history; labels not.
std::uint64_t number_bytes(std::span<const std::uint64_t> shape, std::uint64_t rank, std::uint64_t sweeps) {
  std::uint64_t numbers = rank + sweeps;
  for (const std::uint64_t length : shape) numbers += length * rank;
  return numbers * sizeof(double);
}

}  // namespace

ModelSizes sizes_of(const CpdModel& model) {
  ModelSizes sizes;
  sizes.bytes = number_bytes(model.shape, static_cast<std::uint64_t>(model.rank), model.sweeps());
  sizes.labels.resize(model.shape.size());
  for (std::size_t n = 0; n < std::min(model.labels.size(), sizes.labels.size()); ++n) {
    const Labels& labels = model.labels[n];
    sizes.labels[n] = {labels.size(), labels.text().size()};
    sizes.bytes += labels.memory_bytes();
  }
  return sizes;
}

ModelSizes read_model_sizes(const std::filesystem::path& file) {
  const ModelFileReader reader(file);
  const ModelFile& header = reader.header();
  ModelSizes sizes;
  sizes.bytes = number_bytes(header.shape, header.rank, header.fit_history.size() + header.objective_history.size());
  sizes.labels.resize(header.shape.size());
  const std::vector<std::uint64_t>& label_bytes = reader.label_bytes();
  for (std::size_t n = 0; n < label_bytes.size(); ++n) {
    if (label_bytes[n] == 0) continue;
    sizes.labels[n] = {header.shape[n], label_bytes[n] - Labels::memory_bytes(header.shape[n], 0)};
    sizes.bytes += label_bytes[n];
  }
  return sizes;
}

std::vector<std::string> names_of_modes(std::vector<std::string> names, std::size_t order) {
  while (names.size() < order) names.push_back("mode" + std::to_string(names.size()));
  return names;
}

}  // namespace blco
