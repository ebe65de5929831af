// Measures the speed of MTTKRP on a tensor, and what bounds it; of reading the tensor from disk alone, and of
// decoding alone.
#pragma once

#include <blco/cpd.hpp>
#include <blco/loss.hpp>
#include <blco/tensor.hpp>
#include <blco/tensor_file.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "blco/vector_level.hpp"
#include "kernels/gpu_kernels.hpp"

namespace blco {

struct BenchmarkOptions {
  int repeats = 5;                                                         // passes per mode
  std::optional<Loss> loss = {};                                           // also measures loss passes to all modes
  ConflictResolution conflict_resolution = ConflictResolution::automatic;  // on a GPU
  // On a GPU: buffers between disk and device, 2 to 64, where memory has room for as many; 0: as the plan chooses.
  int slots = 0;
  KernelVariant variant = KernelVariant::usual;
  // On a GPU: MTTKRP runs in at most so many blocks a multiprocessor, the fewer of which leave it more L1 cache; 0: as
  // many as fit.
  int blocks_per_multiprocessor = 0;
  // On a GPU, from 0 to 1: most of the chunks' bytes that stay in its memory, and of the others' that stay in host
  // memory.
  double device_share = 1;
  double host_share = 1;
};

struct PassMeasurement {
  int mode = 0;        // -1: a loss pass
  double seconds = 0;  // median of the repeats
  double min_seconds = 0;
  double nonzeros_per_second = 0;
  // Bytes that one pass moves: over the link, from the container, and through memory as the model of PassTraffic
  // has it.
  double link_bytes = 0;
  double disk_bytes = 0;
  double memory_bytes = 0;
  double cache_bytes = 0;  // rows, indices and values, by the same model
  double additions = 0;    // atomic additions of a number, at most, by the same model
  // Moved or added per second, as a share of what was measured of link, memory, cache and additions; 0 where that was
  // not measured.
  double link_share = 0;
  double memory_share = 0;
  double cache_share = 0;
  double additions_share = 0;

  // The largest of the shares, and the name of what it is a share of.
  double largest_share() const;
  const char* bound() const;
};

struct BenchmarkReport {
  CpdPlan plan;
  double link_bytes_per_second = 0;    // a large copy from pinned memory; 0 on the CPU
  double memory_bytes_per_second = 0;  // a large copy, bytes read plus bytes written
  double cache_bytes_per_second = 0;   // CPU: loads within each thread's first cache; GPU: reads within the L2 cache
  double additions_per_second =
      0;                         // atomic additions within the L2 cache, in the precision of the output; 0 on the CPU
  int multiprocessors = 0;       // as the GPU reports; 0 on the CPU
  std::uint64_t cache_size = 0;  // bytes of the last-level cache, as the device reports
  std::vector<PassMeasurement> passes;
  std::optional<PassMeasurement> loss_pass = {};  // to all modes, if a loss was asked for

  // The time of the loss pass over that of all modes' MTTKRPs. Requires: loss_pass.
  double loss_ratio() const;
  // Nonzeros per second, geometric mean over the modes.
  double mean_speed() const;
};

// Runs the MTTKRP of every mode `repeats` times with uniform random factors, and then as many loss passes to all modes,
// if benchmark.loss says which; the plan has room for the outputs of all modes then. Warm-up passes first bring the
// resident chunks to their place. Budget and shares decide what is streamed. Uses these options: rank, seed,
// compute. Throws Error as fit_cpd does, and invalid_argument for
// repeats below 1 and for shares that are none.
BenchmarkReport benchmark_mttkrp(const Tensor& tensor, const BenchmarkOptions& benchmark = {},
                                 const CpdOptions& options = {});

struct DiskOptions {
  int repeats = 5;
  int threads = 0;  // most readers; 0: one per processor
};

struct DiskMeasurement {
  int readers = 0;               // threads that read, decompress and check chunks; 0: the file is only read, as dd does
  bool cold = false;             // the system was asked first to drop the file from its cache
  bool direct = false;           // read past the system's cache (O_DIRECT), where the file system can
  double seconds = 0;            // median of the repeats
  double processor_seconds = 0;  // of all threads in user and system mode, in that repeat
};

struct DiskReport {
  std::uint64_t nnz = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t stored_bytes = 0;   // of all chunks, read by one pass
  std::uint64_t payload_bytes = 0;  // of all chunks decompressed, sent to a device by one pass
  std::vector<DiskMeasurement> reads;
};

// Measures the host's part of a pass that streams every chunk to a GPU: reading, decompressing, checking, and filling
// the ring of staging buffers; what stands in for the GPU takes no time. Readers: 1, 2, 4 and so on up to `threads`.
// Memory: the ring, of two chunks more than there are readers. Throws Error: io, corrupt, invalid_argument.
DiskReport benchmark_disk(const TensorFile& tensor, const DiskOptions& options = {});

struct DecodeMeasurement {
  std::string column;  // index, high_word or value
  std::uint64_t payload_bytes = 0;
  double seconds = 0;  // median of the repeats
};

struct DecodeReport {
  VectorLevel level = VectorLevel::portable;
  std::uint64_t nnz = 0;
  std::vector<DecodeMeasurement> columns;  // those that the tensor stores
};

// Measures how fast one thread decodes each column from memory, at the process's vector level: frames of payloads to
// line indices, high words and values, which nothing uses. Memory: one chunk. Throws Error: io, corrupt,
// invalid_argument.
DecodeReport benchmark_decode(const Tensor& tensor, int repeats = 5);

}  // namespace blco
