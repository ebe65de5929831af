// Shares the budget out; every term of the sum is named once.
#include "engine/planner.hpp"

#include <algorithm>
#include <string>

#include "blco/error.hpp"
#include "engine/memory.hpp"
#include "kernels/host_backend.hpp"

namespace blco {
namespace {

// The library itself, its HDF5 handles, thread stacks in use and small tables.
constexpr std::uint64_t overhead_bytes = std::uint64_t{8} << 20;

// One lane is computed on while another is filled; a second reader hides decompression where there is room for it.
constexpr int fewest_lanes = 2;
constexpr int usual_lanes = 4;
constexpr int usual_readers = 2;

// Matrices of R x R alive at once in a row update: the system, its checked copy, its factorisation, both forms of the
// solver, and on the singular path the eigenvectors and a product.
constexpr std::uint64_t solver_matrices = 8;

// Buffers are whole pages, and each kept chunk has entries in a few tables.
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t table_bytes_per_chunk = 512;

std::uint64_t chunk_bytes(const ContainerReader& tensor, std::uint64_t chunk) {
  return (tensor.buffer_bytes(chunk) + page_bytes - 1) / page_bytes * page_bytes;
}

struct Sizes {
  std::uint64_t packed = 0;   // of all chunks
  std::uint64_t lane = 0;     // the largest chunk
  std::uint64_t scratch = 0;  // the largest compressed column
  std::uint64_t table = 0;    // the chunk table in memory
};

Sizes measure(const ContainerReader& tensor) {
  Sizes sizes;
  const std::uint64_t chunks = tensor.info().chunk_count();
  for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
    sizes.packed += chunk_bytes(tensor, chunk);
    sizes.lane = std::max(sizes.lane, chunk_bytes(tensor, chunk));
    sizes.scratch = std::max(sizes.scratch, tensor.scratch_bytes(chunk));
  }
  sizes.table = chunks * (sizeof(StoredExtents) + 16 * tensor.info().shape.size() + table_bytes_per_chunk);
  return sizes;
}

std::uint64_t stored_bytes(const ContainerReader& tensor, std::uint64_t chunk) {
  std::uint64_t bytes = 0;
  for (const StoredExtent& extent : tensor.extents(chunk)) bytes += extent.stored_bytes;
  return bytes;
}

// Takes the same share of every stretch of the pass, so that resident and streamed chunks alternate.
std::uint64_t keep_packed(const ContainerReader& tensor, std::uint64_t packed, std::uint64_t room,
                          std::vector<Tier>& tiers) {
  const double share = packed == 0 ? 0 : std::min(1.0, static_cast<double>(room) / static_cast<double>(packed));
  double due = 0;
  std::uint64_t used = 0;
  for (std::uint64_t chunk = 0; chunk < tiers.size(); ++chunk) {
    const std::uint64_t bytes = chunk_bytes(tensor, chunk);
    due += share;
    if (due < 1 - 1e-9 || used + bytes > room) continue;
    due -= 1;
    used += bytes;
    tiers[chunk] = Tier::packed;
  }
  return used;
}

std::uint64_t decode_ahead(const ContainerReader& tensor, const TensorLayout& layout, std::uint64_t room,
                           std::vector<Tier>& tiers) {
  std::uint64_t used = 0;
  for (std::uint64_t chunk = 0; chunk < tiers.size(); ++chunk) {
    const std::uint64_t packed = chunk_bytes(tensor, chunk);
    const std::uint64_t decoded = host_decoded_bytes(layout, tensor.info().nnz_of_chunk(chunk));
    const std::uint64_t more = decoded - std::min(decoded, packed);
    if (used + more > room) break;
    used += more;
    tiers[chunk] = Tier::decoded;
  }
  return used;
}

}  // namespace

Plan make_plan(const ContainerReader& tensor, const PlanRequest& request) {
  BackendConfig config = request.backend;
  config.private_bytes = 0;
  const Sizes sizes = measure(tensor);
  const auto rank = static_cast<std::uint64_t>(config.rank);
  const std::uint64_t fixed = overhead_bytes + sizes.table + request.caller_bytes +
                              host_backend_bytes(config, request.threads) +
                              solver_matrices * rank * rank * sizeof(double);

  Plan plan;
  plan.lane_bytes = sizes.lane;
  plan.scratch_bytes = sizes.scratch;
  const std::uint64_t staging = fewest_lanes * sizes.lane + sizes.scratch;
  plan.minimum_bytes = fixed + staging;
  if (request.budget_bytes < plan.minimum_bytes) {
    throw Error(ErrorKind::out_of_memory,
                "this job takes at least " + format_bytes(plan.minimum_bytes) + " of host memory, and the budget is " +
                    format_bytes(request.budget_bytes) + "; give --host-memory " + as_budget(plan.minimum_bytes) +
                    " or more, a lower rank, or --precision f32");
  }

  std::uint64_t room = request.budget_bytes - fixed - staging;
  plan.tiers.assign(tensor.info().chunk_count(), Tier::streamed);
  plan.private_bytes = std::min(room / 4, host_backend_useful_private_bytes(config, request.threads));
  room -= plan.private_bytes;

  // A deeper ring smooths the reads, but a small budget is better spent on chunks that are not read at all.
  plan.lanes = fewest_lanes;
  plan.readers = 1;
  const bool all_fit = request.keep_chunks && sizes.packed <= room;
  const std::uint64_t more_staging = (usual_lanes - fewest_lanes) * sizes.lane + (usual_readers - 1) * sizes.scratch;
  if (!all_fit && more_staging <= room / 8) {
    plan.lanes = usual_lanes;
    plan.readers = usual_readers;
    room -= more_staging;
  }
  if (request.keep_chunks) {
    room -= keep_packed(tensor, sizes.packed, room, plan.tiers);
    const bool all_packed = std::find(plan.tiers.begin(), plan.tiers.end(), Tier::streamed) == plan.tiers.end();
    if (all_packed) room -= decode_ahead(tensor, config.layout, room, plan.tiers);
  }
  plan.planned_bytes = request.budget_bytes - room;
  for (std::uint64_t chunk = 0; chunk < plan.tiers.size(); ++chunk) {
    if (plan.tiers[chunk] == Tier::streamed) plan.disk_bytes_per_pass += stored_bytes(tensor, chunk);
  }
  return plan;
}

}  // namespace blco
