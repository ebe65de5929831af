// Where and how a job computes: the same for every function that has it.
#pragma once

#include <blco/kernel_choice.hpp>
#include <blco/memory_budget.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace blco {

class Peers;

struct Compute {
  // Empty: a GPU if there is one, else the CPU. "cuda": the thread's current GPU. Else devices that share each pass:
  // "cpu", "cuda:0", "cuda:1" and so on, none twice, or "all": each GPU that can serve, then the CPU. Each
  // device updates a part of the rows, and has a thread of its own. A GPU begins with 12 times as many chunks and rows
  // as the CPU, about the ratio of their memories' bandwidths, unless shares are given: "cuda:0=20". Later each device
  // takes chunks that are read or sent in each pass as it becomes free, unless the job is deterministic.
  // `memory.host_bytes` and `threads` cover all devices, `memory.device_bytes` each GPU.
  std::vector<std::string> devices = {};
  // Of factors and products; f32 halves their memory and rounds more; mixed halves that of the factors alone.
  Precision precision = Precision::f64;
  int threads = 0;  // 1 to 4096; 0: one per processor
  // Gives the same bits with any number of threads and any memory budget. One thread then owns each output row and adds
  // its nonzeros in order, even where private copies of the output would be faster. Cost, on two threads at rank 16
  // with chunks in memory: a sweep takes 1.0 (icews18, darpa1998-3d) to 1.4 (nips12) times the processor time. CPU
  // only: without `devices` the CPU it is; a GPU among them and a declared GPU throw Error{invalid_argument}.
  bool deterministic = false;
  MemoryBudget memory = {};  // of the job, in this process
  // Other processes that take a share of each pass, where this is rank 0 (peers.hpp); null: none. `memory` and
  // `threads` are then those of this process, by default its part of the machine's.
  Peers* peers = nullptr;
  std::filesystem::path trace = {};  // Chrome trace (for Perfetto) of reads, copies and kernels; empty: none
  // Called before the work begins on a GPU for which this build has no machine code: the driver compiles the code at
  // the first start, which takes minutes. Gets a sentence that says so. Threads of several GPUs call it at once.
  std::function<void(const std::string&)> on_compile = {};
};

}  // namespace blco
