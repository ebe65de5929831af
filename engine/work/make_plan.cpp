// Divides the budgets; every term of the sums has a name.
#include "engine/work/make_plan.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/memory.hpp"
#include "io/file/file_descriptor.hpp"
#include "kernels/aligned_buffer.hpp"

namespace blco {
namespace {

// The library itself, its HDF5 handles, thread stacks in use and small tables.
constexpr std::uint64_t overhead_bytes = std::uint64_t{8} << 20;

// One slot is computed on (or copied from) while another is filled. On the CPU the computing threads read the next
// chunk themselves. With a device, readers fill slots, and every reader has one beside these two.
constexpr int min_slots = 2;

// A reader keeps a core busy: it copies, sums up and decompresses. So more readers than threads fill the ring no
// faster. With two, one works while the other waits for the disk. At 4 GB/s each, 62 exceed what a machine's memory
// gives.
constexpr int min_useful_readers = 2;
constexpr int max_useful_readers = 62;

// R x R matrices alive at once in a row update: the system, its checked copy, its factorisation, both forms of the
// solver, and if singular the eigenvectors and a product.
constexpr std::uint64_t solver_matrices = 8;

// Moves streamed chunks to `tier`, the same share of every stretch of the pass, so that they alternate with the others,
// and at most `most_share` of them. Returns the bytes taken.
template <class BytesOf>
std::uint64_t keep_evenly(const TensorSizes& tensor, Tier tier, std::uint64_t room, double most_share,
                          const BytesOf& bytes_of, std::vector<Tier>& tiers) {
  std::uint64_t wanted = 0;
  for (std::size_t chunk = 0; chunk < tiers.size(); ++chunk) {
    if (tiers[chunk] == Tier::streamed) wanted += bytes_of(tensor.chunks[chunk]);
  }
  const double share = wanted == 0 ? 0 : std::min(most_share, static_cast<double>(room) / static_cast<double>(wanted));
  double due = 0;
  std::uint64_t used = 0;
  for (std::size_t chunk = 0; chunk < tiers.size(); ++chunk) {
    if (tiers[chunk] != Tier::streamed) continue;
    const std::uint64_t bytes = bytes_of(tensor.chunks[chunk]);
    due += share;
    if (due < 1 - 1e-9 || used + bytes > room) continue;
    due -= 1;
    used += bytes;
    tiers[chunk] = tier;
  }
  return used;
}

std::uint64_t buffer_of(const ChunkSizes& chunk) { return chunk.buffer_bytes; }

// Of a chunk that stays with the kernels.
std::uint64_t kept_bytes(const JobNeeds& needs, const ChunkSizes& chunk) {
  return needs.kind->chunk_bytes(needs.backend, chunk.nnz, chunk.payload_bytes);
}

std::uint64_t decode_ahead(const TensorSizes& tensor, const JobNeeds& needs, std::uint64_t room,
                           std::vector<Tier>& tiers) {
  std::uint64_t used = 0;
  for (std::size_t chunk = 0; chunk < tiers.size(); ++chunk) {
    const std::uint64_t packed = tensor.chunks[chunk].buffer_bytes;
    const std::uint64_t decoded = kept_bytes(needs, tensor.chunks[chunk]);
    const std::uint64_t more = decoded - std::min(decoded, packed);
    if (used + more > room) break;
    used += more;
    tiers[chunk] = Tier::decoded;
  }
  return used;
}

// Plans arranged copies of chunks that are decoded anyway.
void arrange_ahead(const TensorSizes& tensor, const JobNeeds& needs, std::uint64_t room, Plan& plan) {
  // Loss passes take chunks in line order.
  if (needs.backend.all_outputs || needs.backend.loss_passes) return;
  std::vector<std::uint64_t> nnzs;
  for (std::size_t chunk = 0; chunk < plan.tiers.size(); ++chunk) {
    const bool is_natural = !tensor.chunks[chunk].is_sorted;
    if (is_natural && plan.tiers[chunk] == Tier::decoded) nnzs.push_back(tensor.chunks[chunk].nnz);
  }
  BackendConfig config = needs.backend;
  config.private_bytes = plan.private_bytes;
  if (nnzs.empty()) return;
  const std::uint64_t useful = needs.kind->arranged_bytes(config, nnzs, needs.threads);
  plan.arranged_bytes = std::min(room, useful);
  plan.arranges_all = plan.arranged_bytes == useful && nnzs.size() == plan.tiers.size();
}

bool has_link(const JobNeeds& needs) { return needs.kind->gpu() != nullptr; }

std::uint64_t slot_bytes(const TensorSizes& tensor, const JobNeeds& needs) {
  return std::max(tensor.largest_buffer(), has_link(needs) ? needs.slot_bytes : 0);
}

std::uint64_t host_bytes(const JobNeeds& needs, std::uint64_t private_bytes) {
  BackendConfig config = needs.backend;
  config.private_bytes = private_bytes;
  return needs.kind->footprint(config, needs.threads).host.bytes();
}

// Of the outputs that are there at once.
std::uint64_t output_rows(const BackendConfig& backend) {
  const std::vector<std::uint64_t> rows = backend.rows();
  return backend.all_outputs ? std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}) : std::ranges::max(rows);
}

std::uint64_t useful_private_bytes(const JobNeeds& needs) {
  return needs.deterministic ? 0 : needs.kind->useful_private_bytes(needs.backend, needs.threads);
}

// With whole copies of the output, a backend makes no RowExchange, which may need more memory than the copies.
std::uint64_t min_private_bytes(const JobNeeds& needs) {
  const std::uint64_t useful = useful_private_bytes(needs);
  return host_bytes(needs, useful) <= host_bytes(needs, 0) ? useful : 0;
}

// Host memory that every plan needs.
Account least_memory(const TensorSizes& tensor, const JobNeeds& needs, const Plan& plan) {
  const auto rank = static_cast<std::uint64_t>(needs.backend.rank);
  BackendConfig config = needs.backend;
  config.private_bytes = has_link(needs) ? 0 : min_private_bytes(needs);
  Account memory = needs.kind->footprint(config, needs.threads).host;
  memory.take("the library", overhead_bytes);
  memory.take("the table of chunks", tensor.table_bytes);
  memory.take(needs.caller);
  memory.take_by_rank("systems of R x R numbers", solver_matrices * rank * rank * sizeof(double));
  memory.take("chunks that are read", min_slots * plan.slot_bytes + plan.scratch_bytes);
  return memory;
}

std::uint64_t natural_nnz(const TensorSizes& tensor) {
  std::uint64_t nnz = 0;
  for (const ChunkSizes& chunk : tensor.chunks) nnz += chunk.is_sorted ? 0 : chunk.nnz;
  return nnz;
}

// For private outputs on the host: at most a quarter of `room`; but as much as is useful if most of the tensor is
// streamed anyway and merging the copies costs little compared to the nonzeros.
std::uint64_t choose_private_bytes(const TensorSizes& tensor, const JobNeeds& needs, std::uint64_t room) {
  const std::uint64_t useful = useful_private_bytes(needs);
  const std::uint64_t min_bytes = min_private_bytes(needs);
  const auto copies = static_cast<std::uint64_t>(needs.threads - 1);
  const bool worthwhile = copies * output_rows(needs.backend) <= natural_nnz(tensor) / 4;
  const bool fits = host_bytes(needs, useful) <= host_bytes(needs, min_bytes) + room;
  const bool streams = needs.best_tier == Tier::streamed || tensor.buffer_bytes() >= 2 * room;
  if (worthwhile && fits && streams) return useful;
  const std::uint64_t quarter = room / 4 / page_bytes * page_bytes;
  return std::max(min_bytes, std::min(quarter, useful));
}

// Host memory of the factors before each update.
std::uint64_t previous_factor_bytes(const JobNeeds& needs) {
  BackendConfig config = needs.backend;
  config.keep_previous = true;
  return needs.kind->footprint(config, needs.threads).host.bytes() - host_bytes(needs, 0);
}

// Host memory of the ring beyond its minimum.
std::uint64_t more_ring_bytes(const Plan& plan) {
  const auto readers = static_cast<std::uint64_t>(plan.readers);
  return static_cast<std::uint64_t>(plan.slots - min_slots) * plan.slot_bytes + (readers - 1) * plan.scratch_bytes +
         readers * plan.direct_bytes;
}

void set_readers(int readers, Plan& plan) {
  plan.slots = min_slots + readers;
  plan.readers = std::max(1, readers);
}

// What more slots and readers may take of `room`: little, because a small budget is better spent on keeping chunks; all
// of it where the caller has asked for slots.
std::uint64_t room_for_slots(const JobNeeds& needs, std::uint64_t room) { return needs.slots > 0 ? room : room / 8; }

// As many readers as are of use, or as the slots asked for have, if there is room.
void deepen_ring(const JobNeeds& needs, std::uint64_t room, Plan& plan) {
  int readers = std::clamp(needs.threads, min_useful_readers, max_useful_readers);
  readers = static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(readers), plan.tiers.size()));
  if (needs.slots > 0) readers = needs.slots - min_slots;
  set_readers(readers, plan);
  while (readers > 0 && more_ring_bytes(plan) > room_for_slots(needs, room)) set_readers(--readers, plan);
}

std::uint64_t device_bytes(const JobNeeds& needs, const Plan& plan) {
  return needs.kind->footprint(backend_config(needs, plan), needs.threads).device.bytes();
}

// Terms of at least 0.1 MiB, by falling size, and the rest as one.
std::string in_words(const Account& account) {
  constexpr std::uint64_t least = (std::uint64_t{1} << 20) / 10;
  std::vector<MemoryTerm> terms = account.terms();
  std::ranges::stable_sort(terms, std::greater(), &MemoryTerm::bytes);
  std::string words;
  std::uint64_t rest = 0;
  for (const MemoryTerm& term : terms) {
    if (term.bytes < least) {
      rest += term.bytes;
    } else {
      words += (words.empty() ? "" : ", ") + format_bytes(term.bytes) + " for " + std::string(term.name);
    }
  }
  if (rest > 0) words += (words.empty() ? "" : ", ") + format_bytes(rest) + " for the rest";
  return words;
}

// "a", "a or b", "a, b, or c".
std::string listed(const std::vector<std::string>& choices) {
  std::string words = choices.front();
  for (std::size_t i = 1; i < choices.size(); ++i) {
    const bool is_last = i + 1 == choices.size();
    words += (choices.size() > 2 ? ", " : " ") + std::string(is_last ? "or " : "") + choices[i];
  }
  return words;
}

// Whether the budget holds so large a share of each term.
template <class ShareOf>
bool leaves_room(const Account& least, std::uint64_t budget, const ShareOf& share_of) {
  double bytes = 0;
  for (const MemoryTerm& term : least.terms()) bytes += static_cast<double>(term.bytes) * share_of(term);
  return bytes <= static_cast<double>(budget);
}

double share_left(const Saving& saving, const MemoryTerm& term) {
  if (term.name == saving.term) return 0;
  return term.by_rank ? saving.share : 1;
}

// What f32 saves of the factors, the returned model takes more.
double share_in_single(const MemoryTerm& term) { return term.name == output_term || term.name == duals_term ? 0.5 : 1; }

// Plans device memory: slots, copies of the output and resident chunks.
void plan_device(const TensorSizes& tensor, const JobNeeds& needs, Plan& plan) {
  const int slots = plan.slots;
  plan.slots = min_slots;
  const Account least = least_device_memory(tensor, needs);
  plan.device_minimum_bytes = least.bytes();
  if (needs.device_budget_bytes < plan.device_minimum_bytes) {
    std::vector<std::string> advice = {option_name("device_bytes", as_budget(plan.device_minimum_bytes))};
    if (needs.kind->slabs() == 1) {  // else the device has one column
      for (const Saving& saving : needs.savings) advice.push_back(saving.words);
      if (needs.backend.rank > 1 && !needs.lower_rank.empty()) advice.push_back(needs.lower_rank);
    }
    if (needs.backend.precision != Precision::f32) advice.push_back(option_name("precision", "f32"));
    advice.push_back(option_name("devices", "cpu"));
    throw Error(ErrorKind::out_of_memory, "this job requires at least " + format_bytes(plan.device_minimum_bytes) +
                                              " of device memory (" + in_words(least) + "), but the budget is " +
                                              format_bytes(needs.device_budget_bytes) + "; give at least " +
                                              listed(advice));
  }
  std::uint64_t room = needs.device_budget_bytes - plan.device_minimum_bytes;
  // At most half of the rest: their rows would cross the link more often than those of a chunk.
  const std::size_t wanted = needs.kind->slabs() == 1 ? needs.backend.vectors.size() : 0;
  while (plan.device_vectors < wanted) {
    ++plan.device_vectors;
    if (device_bytes(needs, plan) <= plan.device_minimum_bytes + room / 2) continue;
    --plan.device_vectors;
    break;
  }
  room -= device_bytes(needs, plan) - plan.device_minimum_bytes;
  plan.private_bytes = std::min(room / 4, needs.kind->useful_private_bytes(needs.backend, needs.threads));
  const std::uint64_t without = device_bytes(needs, plan);
  plan.keep_previous = needs.want_previous && needs.kind->slabs() == 1;
  if (device_bytes(needs, plan) > without + room / 4) plan.keep_previous = false;
  const std::uint64_t min_bytes = device_bytes(needs, plan);
  plan.slots = slots;
  const std::uint64_t most_bytes = std::min(min_bytes + room_for_slots(needs, room), needs.device_budget_bytes);
  while (plan.slots > min_slots && device_bytes(needs, plan) > most_bytes) {
    set_readers(plan.slots - min_slots - 1, plan);
  }
  const std::uint64_t taken = device_bytes(needs, plan);
  if (needs.best_tier == Tier::device) {
    plan.resident_bytes = keep_evenly(
        tensor, Tier::device, needs.device_budget_bytes - taken, needs.shares.device,
        [&](const ChunkSizes& chunk) { return kept_bytes(needs, chunk); }, plan.tiers);
  }
  plan.device_planned_bytes = taken + plan.resident_bytes;
}

void count_moved_bytes(const TensorSizes& tensor, const JobNeeds& needs, Plan& plan) {
  const auto slabs = static_cast<std::uint64_t>(needs.kind->slabs());
  for (std::size_t chunk = 0; chunk < plan.tiers.size(); ++chunk) {
    const Tier tier = plan.tiers[chunk];
    if (tier == Tier::streamed) {
      plan.disk_bytes_per_pass += plan.bytes_per_pass(chunk, slabs * tensor.chunks[chunk].stored_bytes);
    }
    if (has_link(needs) && tier != Tier::device) plan.link_bytes_per_pass += slabs * tensor.chunks[chunk].payload_bytes;
  }
}

}  // namespace

void check_budget(const Account& least, const JobNeeds& needs) {
  const std::uint64_t bytes = least.bytes();
  if (needs.budget_bytes >= bytes) return;
  std::vector<std::string> advice = {option_name("host_bytes", as_budget(bytes))};
  const auto advise = [&](const std::string& words, const auto& share_of) {
    if (leaves_room(least, needs.budget_bytes, share_of)) advice.push_back(words);
  };
  std::vector<Saving> savings = needs.savings;
  if (!needs.lower_rank.empty()) savings.push_back({.words = needs.lower_rank, .share = needs.share_of_rank_1});
  for (const Saving& saving : savings) {
    advise(saving.words, [&](const MemoryTerm& term) { return share_left(saving, term); });
  }
  const bool may_be_single = !needs.lower_rank.empty() && needs.backend.precision != Precision::f32;
  if (may_be_single) advise(option_name("precision", "f32"), share_in_single);
  throw Error(ErrorKind::out_of_memory, "this job requires at least " + format_bytes(bytes) + " of host memory (" +
                                            in_words(least) + "), but the budget is " +
                                            format_bytes(needs.budget_bytes) + "; give at least " + listed(advice));
}

Account least_device_memory(const TensorSizes& tensor, const JobNeeds& needs) {
  Plan plan;
  plan.slots = min_slots;
  plan.slot_bytes = slot_bytes(tensor, needs);
  return needs.kind->footprint(backend_config(needs, plan), needs.threads).device;
}

Plan make_plan(const TensorSizes& tensor, const JobNeeds& needs) {
  Plan plan;
  plan.of_modes = needs.of_modes;
  plan.value_exponent = needs.value_exponent;
  plan.slot_bytes = slot_bytes(tensor, needs);
  plan.scratch_bytes = tensor.largest_scratch();
  plan.least = least_memory(tensor, needs, plan);
  const std::uint64_t taken = plan.least.bytes();
  plan.least.take_by_rank("sampling before the fit", needs.least_bytes - std::min(needs.least_bytes, taken));
  plan.minimum_bytes = plan.least.bytes();
  check_budget(plan.least, needs);

  std::uint64_t room = needs.budget_bytes - taken;
  plan.tiers.assign(tensor.chunks.size(), Tier::streamed);
  plan.slots = min_slots;
  plan.readers = 1;
  if (!has_link(needs)) {
    plan.private_bytes = choose_private_bytes(tensor, needs, room);
    room -= host_bytes(needs, plan.private_bytes) - host_bytes(needs, min_private_bytes(needs));
    const std::uint64_t previous = previous_factor_bytes(needs);
    plan.keep_previous = needs.want_previous && previous <= room / 4;
    if (plan.keep_previous) room -= previous;
  } else {
    deepen_ring(needs, room, plan);
    plan_device(tensor, needs, plan);
    room += host_bytes(needs, 0) - needs.kind->footprint(backend_config(needs, plan), needs.threads).host.bytes();
    plan.direct_bytes = direct_room_bytes;
    if (more_ring_bytes(plan) > room / 8) plan.direct_bytes = 0;
    room -= more_ring_bytes(plan);
  }
  if (needs.best_tier != Tier::streamed) {
    room -= keep_evenly(tensor, Tier::packed, room, has_link(needs) ? needs.shares.host : 1, buffer_of, plan.tiers);
    if (!has_link(needs) && needs.best_tier != Tier::packed && plan.keeps_all()) {
      room -= decode_ahead(tensor, needs, room, plan.tiers);
      arrange_ahead(tensor, needs, room, plan);
      room -= plan.arranged_bytes;
    }
  }
  plan.planned_bytes = needs.budget_bytes - room;
  count_moved_bytes(tensor, needs, plan);
  return plan;
}

BackendConfig backend_config(const JobNeeds& needs, const Plan& plan) {
  BackendConfig config = needs.backend;
  config.private_bytes = plan.private_bytes;
  config.arranged_bytes = plan.arranged_bytes;
  config.keep_previous = plan.keep_previous;
  config.slots = plan.slots;
  config.slot_bytes = plan.slot_bytes;
  config.resident_bytes = plan.resident_bytes;
  config.device_vectors = plan.device_vectors;
  return config;
}

}  // namespace blco
