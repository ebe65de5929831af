// Writes a tensor as a container, with what an ingest reports of one.
#pragma once

#include <blco/ingest.hpp>
#include <blco/progress.hpp>
#include <blco/tensor_file.hpp>
#include <filesystem>

namespace blco {

// As save() says; no entries are read.
IngestReport save_tensor(const Tensor& tensor, const std::filesystem::path& output, const SaveOptions& options,
                         const ProgressCallback& progress);

// ingest_files() of a container: it gets copies in the orders of modes, and all else of it stays. Also refuses options
// that would change the rest.
IngestReport give_orders(const std::filesystem::path& input, const std::filesystem::path& output,
                         const IngestOptions& options, const ProgressCallback& progress);

}  // namespace blco
