// The plan of a job: where chunks stay between passes, and what a pass reads; and a GPU to plan for.
#pragma once

#include <blco/fields.hpp>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace blco {

// A GPU to plan for, which need not be present.
struct DeclaredGpu {
  std::uint64_t memory_bytes = 0;
  int multiprocessors = 132;
};

// What each pass of a mode reads, but the first one.
struct ModeRead {
  bool own_order = false;        // the copy in the mode's own order; else the natural order
  std::uint64_t disk_bytes = 0;  // from the container

  const char* order() const { return own_order ? "own" : "natural"; }
};

template <>
inline constexpr auto fields_of<ModeRead> = std::tuple(Field{"order", &ModeRead::order},
                                                       Field{"disk_bytes", &ModeRead::disk_bytes});

// Where the chunks stay between passes, and what a pass reads.
struct CpdPlan {
  std::string device;
  std::string device_note;  // why no GPU, or not each of "all", is used although the job looked for it; else empty
  // Says that the budget exceeds the machine's memory, or why fewer chunks stay in host memory than the budget allows;
  // else empty.
  std::string memory_note;
  int threads = 0;
  int slots = 0;
  int processes = 1;  // that share the job (Compute::peers); what follows is of this one
  // Of Compute::devices, the plans of all but the first. What follows is of the first one, but the host memory of all.
  std::vector<CpdPlan> others = {};
  std::uint64_t chunk_count = 0;      // of all orders that passes read
  std::uint64_t device_chunks = 0;    // in device memory, packed as on disk
  std::uint64_t decoded_chunks = 0;   // in host memory, ready to use
  std::uint64_t packed_chunks = 0;    // in host memory, packed as on disk
  std::uint64_t streamed_chunks = 0;  // read from disk in every pass
  std::uint64_t budget_bytes = 0;
  std::uint64_t planned_bytes = 0;        // all host memory of the job
  std::uint64_t minimum_bytes = 0;        // the smallest budget that suffices
  std::uint64_t disk_bytes_per_pass = 0;  // read from the container, in every pass but the first; a mean over `reads`
  std::vector<ModeRead> reads = {};       // per mode; empty: every pass reads the natural order
  std::string orders_note;                // why no pass reads the copies that the container has; else empty
  std::vector<std::uint64_t> new_rows = {};  // per mode, those that CpdOptions::initial lacks; empty: none
  // Per mode, the entries of CpdOptions::initial outside the mode's box, into which its first update moves them; empty:
  // none.
  std::vector<std::uint64_t> outside_box = {};
  // True if memory holds a copy of what a sweep overwrites. A job that is cancelled or out of time then ends at once
  // with its last finished sweep; otherwise it first finishes the sweep in progress.
  bool stops_within_sweep = false;
  // True if the method itself can end a sweep after the pass in progress; that sweep counts unless it is the first, and
  // its model is the result.
  bool stops_after_pass = false;
  // Device memory; zero on the CPU.
  std::uint64_t device_budget_bytes = 0;
  std::uint64_t device_planned_bytes = 0;
  std::uint64_t device_minimum_bytes = 0;
  std::uint64_t resident_bytes = 0;       // the part of device_planned_bytes that chunks take
  std::uint64_t link_bytes_per_pass = 0;  // payloads sent to the device, in every pass but the first
  // If more than 1, the factors stay on the host, and every pass goes through the chunks once for each slab of their
  // columns.
  int column_slabs = 1;
  std::uint64_t row_bytes_per_pass = 0;  // then, of factors and outputs that cross the link too, at most
};

template <>
inline constexpr auto fields_of<CpdPlan> = std::tuple(
    Field{"device", &CpdPlan::device}, Field{"device_note", &CpdPlan::device_note},
    Field{"memory_note", &CpdPlan::memory_note}, Field{"threads", &CpdPlan::threads},
    Field{"processes", &CpdPlan::processes}, Field{"others", &CpdPlan::others}, Field{"slots", &CpdPlan::slots},
    Field{"chunks.total", &CpdPlan::chunk_count}, Field{"chunks.device", &CpdPlan::device_chunks},
    Field{"chunks.decoded", &CpdPlan::decoded_chunks}, Field{"chunks.packed", &CpdPlan::packed_chunks},
    Field{"chunks.streamed", &CpdPlan::streamed_chunks}, Field{"host_bytes.planned", &CpdPlan::planned_bytes},
    Field{"host_bytes.budget", &CpdPlan::budget_bytes}, Field{"host_bytes.minimum", &CpdPlan::minimum_bytes},
    Field{"device_bytes.planned", &CpdPlan::device_planned_bytes},
    Field{"device_bytes.budget", &CpdPlan::device_budget_bytes},
    Field{"device_bytes.minimum", &CpdPlan::device_minimum_bytes},
    Field{"device_bytes.resident", &CpdPlan::resident_bytes},
    Field{"disk_bytes_per_pass", &CpdPlan::disk_bytes_per_pass}, Field{"reads", &CpdPlan::reads},
    Field{"orders_note", &CpdPlan::orders_note}, Field{"link_bytes_per_pass", &CpdPlan::link_bytes_per_pass},
    Field{"column_slabs", &CpdPlan::column_slabs}, Field{"row_bytes_per_pass", &CpdPlan::row_bytes_per_pass},
    Field{"stops_within_sweep", &CpdPlan::stops_within_sweep}, Field{"stops_after_pass", &CpdPlan::stops_after_pass},
    Field{"new_rows", &CpdPlan::new_rows}, Field{"outside_box", &CpdPlan::outside_box});

}  // namespace blco
