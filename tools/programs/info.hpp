// Prints what blco-info reports on a tensor or a model, as text or as one JSON object.
#pragma once

#include <blco/cpd.hpp>
#include <blco/model_match.hpp>
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

// How the output names coordinates: by label or by number.
struct CoordinateNames {
  int index_base = 1;
  std::vector<Labels> labels = {};  // per mode, empty for a mode without; empty: no mode has labels

  std::string name(std::size_t mode, std::uint64_t row) const;
};

// "mode 2", or its name in the file.
std::string mode_name(const std::vector<std::string>& names, std::size_t mode);

// Nonzeros per cell; bytes of the whole file per nonzero.
double density(const TensorSummary& summary);
double bytes_per_nonzero(const TensorSummary& summary);

void print_tensor(const std::filesystem::path& path, const TensorSummary& summary,
                  const std::optional<TensorStatistics>& statistics);
void print_model(const std::filesystem::path& path, const CpdModel& model,
                 const std::vector<ComponentSummary>& components, const SummaryOptions& options,
                 const CoordinateNames& names);

void print_match(const std::filesystem::path& path, const CpdModel& model, const std::filesystem::path& other,
                 const CpdModel& second, const ModelMatch& match);

// tools/programs/JSON.md documents the keys.
cli::Json match_json(const std::filesystem::path& path, const std::filesystem::path& other, const ModelMatch& match);
cli::Json tensor_json(const std::filesystem::path& path, const TensorSummary& summary,
                      const std::optional<TensorStatistics>& statistics);
cli::Json model_json(const std::filesystem::path& path, const CpdModel& model,
                     const std::vector<ComponentSummary>& components, const CoordinateNames& names);
cli::Json verified_json(const std::filesystem::path& path, const VerifiedTensor& verified);
cli::Json verified_json(const std::filesystem::path& path, const CpdModel& model);

}  // namespace blco::info
