// Seeded synthetic tensors of any shape and size, for tests, demonstrations and benchmarks.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace blco {

// Value of a nonzero at (i, j, ...): scale * sum_r prod_n A_n(i_n, r) + noise * u, u uniform in [0, 1); the A_n are
// uniform in [0, 1), squared, and scale makes the mean of the model over all cells 1. Values are rounded to six
// decimals and never zero. The same options give the same tensor, as text or container, on every machine and thread
// count.
struct GenerateOptions {
  std::vector<std::uint64_t> shape = {};
  std::uint64_t nnz = 0;  // entries drawn; equal coordinates are summed by ingest, so a tensor has a few less
  std::uint64_t seed = 1;
  int planted_rank = 8;  // 0: no model, values are noise * u, or 1 if noise is 0
  double skew = 1.0;     // coordinate = I_n * u^skew, then permuted; 1 is uniform, 3 is like event logs
  double noise = 0.1;
  bool counts = false;  // values rounded up to positive whole numbers
};

// Writes FROSTT text, 1-based; a name ending in .gz or .zst is compressed. The file appears when it is whole.
// Throws Error: invalid_argument, io; cancelled by `progress`, and then nothing is left.
void generate_text(const GenerateOptions& options, const std::filesystem::path& output, int threads = 0,
                   const ProgressCallback& progress = {});

// Straight into a container, without text in between. ingest.shape is taken from `options`. Throws as ingest_files
// does.
IngestReport generate_container(const GenerateOptions& options, const std::filesystem::path& output,
                                const IngestOptions& ingest = {}, const ProgressCallback& progress = {});

}  // namespace blco
