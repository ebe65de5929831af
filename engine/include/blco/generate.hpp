// Seeded synthetic tensors of any shape and size, for tests, demonstrations and benchmarks.
#pragma once

#include <blco/ingest.hpp>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace blco {

// A nonzero at (i, j, ...) has the value scale * sum_r prod_n A_n(i_n, r) + noise * u, with u uniform in [0, 1). The
// entries of A_n are squares of uniform numbers in [0, 1), and scale makes the mean of the model over all cells 1.
// Values are rounded to six decimals and never zero. The same options give the same tensor, as text or container, on
// every machine and with any number of threads.
struct GenerateOptions {
  std::vector<std::uint64_t> shape = {};
  std::uint64_t nnz = 0;  // entries drawn; ingest sums equal coordinates, so the tensor has slightly fewer
  std::uint64_t seed = 1;
  int planted_rank = 8;  // 0: no model; values are noise * u, or 1 if noise is 0
  double skew = 1.0;     // coordinate = I_n * u^skew, then permuted; 1 is uniform, 3 resembles event logs
  double noise = 0.1;
  bool counts = false;  // round values up to positive whole numbers
};

// Writes FROSTT text, 1-based; compressed if the name ends in .gz or .zst. The file appears only when it is complete.
// Throws Error: invalid_argument, io, cancelled (by `progress`; leaves no file).
void generate_text(const GenerateOptions& options, const std::filesystem::path& output, int threads = 0,
                   const ProgressCallback& progress = {});

// Writes a container directly, without text in between. ingest.shape is taken from `options`. Throws Error as
// ingest_files does.
IngestReport generate_container(const GenerateOptions& options, const std::filesystem::path& output,
                                const IngestOptions& ingest = {}, const ProgressCallback& progress = {});

}  // namespace blco
