// Prints blco-ingest's notes and result, as text or JSON.
#pragma once

#include <blco/ingest.hpp>
#include <filesystem>

#include "tools/programs/reporter.hpp"

namespace blco::cli {

// How long it took, and what is odd about the modes. `options` are those of the ingest.
void note_ingest(Reporter& reporter, const IngestReport& report, const IngestOptions& options, double seconds);
void report_container(Reporter& reporter, const IngestReport& report, const IngestOptions& options,
                      const std::filesystem::path& output);

}  // namespace blco::cli
