// The choice between the CPU and a GPU.
#pragma once

namespace blco {

// Where to compute; the options that have it say what `automatic` takes.
enum class Device { automatic, cpu, cuda };

}  // namespace blco
