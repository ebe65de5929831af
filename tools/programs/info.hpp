// What blco-info can say of a tensor and of a model, as text or as one JSON object.
#pragma once

#include <blco/cpd.hpp>
#include <blco/model_summary.hpp>
#include <blco/statistics.hpp>
#include <blco/tensor_file.hpp>
#include <blco/verify.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/programs/reporter.hpp"

namespace blco::info {

// How coordinates are called in the output: by their labels, or by numbers.
struct CoordinateNames {
  int index_base = 1;
  std::vector<Labels> labels = {};  // per mode, empty where it has none; or empty

  std::string name(std::size_t mode, std::uint64_t row) const;
};

// "mode 2", or the name that the file gives it.
std::string mode_name(const std::vector<std::string>& names, std::size_t mode);

// Share of all cells that are nonzeros; and of the whole file, bytes per nonzero.
double density(const TensorSummary& summary);
double bytes_per_nonzero(const TensorSummary& summary);

void print_tensor(const std::filesystem::path& path, const TensorSummary& summary,
                  const std::optional<TensorStatistics>& statistics);
void print_model(const std::filesystem::path& path, const CpdModel& model,
                 const std::vector<ComponentSummary>& components, const SummaryOptions& options,
                 const CoordinateNames& names);

// tools/programs/JSON.md says what the keys mean.
cli::Json tensor_json(const std::filesystem::path& path, const TensorSummary& summary,
                      const std::optional<TensorStatistics>& statistics);
cli::Json model_json(const std::filesystem::path& path, const CpdModel& model,
                     const std::vector<ComponentSummary>& components, const CoordinateNames& names);
cli::Json verified_json(const std::filesystem::path& path, const VerifiedTensor& verified);
cli::Json verified_json(const std::filesystem::path& path, const CpdModel& model);

}  // namespace blco::info
