// Prints what blco-info reports on a tensor or a model, as text or as one JSON object.
#pragma once

#include <fmt/format.h>

#include <blco/cpd.hpp>
#include <blco/model_match.hpp>
#include <blco/model_summary.hpp>
#include <blco/statistics.hpp>
#include <blco/tensor_file.hpp>
#include <blco/tucker.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/programs/reporter.hpp"

namespace blco::info {

// "mode 2", or its name in the file, shortened and printable.
std::string mode_name(const std::vector<std::string>& names, std::size_t mode);

template <class Value>
void print_row(const char* name, const Value& value) {
  fmt::print("{:<12}{}\n", name, cli::printable(fmt::format("{}", value)));
}

// `label_bytes` is the memory of each mode's labels, 0 without; or empty.
void print_modes(const std::vector<std::uint64_t>& shape, const std::vector<std::string>& names,
                 const std::vector<std::uint64_t>& label_bytes);

// How the output names coordinates: by label or by number.
struct CoordinateNames {
  int index_base = 1;
  const std::vector<Labels>& labels;  // per mode, empty for a mode without; empty: no mode has labels

  std::string name(std::size_t mode, std::uint64_t row) const {
    if (mode < labels.size() && !labels[mode].empty()) return std::string(labels[mode][row]);
    return std::to_string(row + static_cast<std::uint64_t>(index_base));
  }
  // The same for a line of text: printable, shortened, and quoted where it would look like two entries.
  std::string text(std::size_t mode, std::uint64_t row) const;
};

// Items separated by commas, wrapped and indented below `start`.
std::string wrapped(const std::string& start, const std::vector<std::string>& items);

// How the input of a tensor was read, where that was not the usual way.
cli::Json reading_json(const InputReading& reading);
void print_reading(const InputReading& reading);

void report_tensor(cli::Reporter& reporter, const std::filesystem::path& path, const TensorSummary& summary,
                   const std::optional<TensorStatistics>& statistics);

// Rows without a label are numbered from `index_base`.
void report_model(cli::Reporter& reporter, const std::filesystem::path& path, const CpdModel& model,
                  const SummaryOptions& options, int index_base);

void report_tucker(cli::Reporter& reporter, const std::filesystem::path& path, const TuckerModel& model,
                   const SummaryOptions& options, int index_base);

// The principal angles between the columns of two Tucker models.
void report_angles(cli::Reporter& reporter, const std::filesystem::path& path, const TuckerModel& model,
                   const std::filesystem::path& other, const TuckerModel& second);

void report_match(cli::Reporter& reporter, const std::filesystem::path& path, const CpdModel& model,
                  const std::filesystem::path& other, const CpdModel& second);

}  // namespace blco::info
