#include "tools/programs/compute_options.hpp"

namespace blco::cli {

void add_compute_options(CommandLine& line, Compute& compute) {
  line.add("--devices", compute.devices, parse_names,
           {"LIST",
            "Where to compute: cpu, cuda, or devices of this machine that share each pass (cpu, cuda:0, cuda:1 and so "
            "on, or all). The first device also updates the factors. A GPU begins with 12 times as many chunks as the "
            "CPU, unless shares are given, such as cpu=1,cuda:0=20. --memory and --threads are of all devices "
            "together. --device-memory is of each GPU",
            "the GPU if there is one and this build supports it, else the CPU"});
  line.add_threads(compute.threads);
  line.add_size(
      "--memory", compute.memory.host_bytes,
      "Host memory budget of the whole job. With less memory, more chunks are read from disk again in every pass");
  line.add_size("--device-memory", compute.memory.device_bytes,
                "Device memory budget. With less memory, more chunks are sent to the GPU in every pass",
                "90% of what is free");
  line.add_choice<Precision>(
      "--precision", compute.precision, {{"f64", Precision::f64}, {"f32", Precision::f32}, {"mixed", Precision::mixed}},
      "Precision of the factors and of MTTKRP. f32 takes less memory and time; f64 is more accurate. mixed stores the "
      "factors as f32 and computes in f64");
  line.add_flag("--deterministic", compute.deterministic,
                "Give the same model, bit for bit, with any number of threads and any memory budget. Only the CPU can; "
                "it takes more time");
  line.add_path("--trace", compute.trace,
                {"FILE", "Write a Chrome trace of reads, copies and kernels to this file. ui.perfetto.dev shows it"});
}

void add_checkpoint_options(CommandLine& line, std::filesystem::path& file, int& sweeps) {
  line.add_path("--checkpoint", file,
                {"FILE", "Also save the model to this file, every K sweeps (see --every) and at the end"});
  line.add_whole("--every", sweeps, 1, {"K", "With --checkpoint: number of sweeps from one checkpoint to the next"});
  line.needs("--every", "--checkpoint");
}

}  // namespace blco::cli
