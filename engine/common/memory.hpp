// Memory limits of this process, and sizes as text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace blco {

// The default budget: 80% of the available memory, or of what the process's control groups leave if that is less.
// `root` holds proc and sys.
std::uint64_t default_host_bytes(const std::filesystem::path& root = "/");

// `bytes`, or the default budget if it is 0.
std::uint64_t host_budget(std::uint64_t bytes);

// "1.5 GiB", "12.0 MiB", "812 B".
std::string format_bytes(std::uint64_t bytes);

// `bytes` rounded up, in a form that the size options of the programs accept: "41234KiB", "513MiB".
std::string as_budget(std::uint64_t bytes);

// Returns freed pages to the system, so that a budget holds across the stages of a job.
void release_freed_memory();

}  // namespace blco
