// Loops that transfer all bytes between a file and memory, despite partial transfers and signals.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace blco {

// Repeats a system call while a signal interrupts it. A negative result means failure, with errno set.
template <class Call>
ssize_t uninterrupted(const Call& call) {
  for (;;) {
    const ssize_t result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Reads exactly out.size() bytes. Throws Error: io, or corrupt if the file ends earlier; the caller adds the place.
void read_at(int descriptor, std::uint64_t offset, std::span<std::byte> out);

// Same; the message names the file.
void read_at(int descriptor, const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> out);

// Write all of `bytes`, at an offset or at the current position. Return 0 or the system's error number.
[[nodiscard]] int write_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes);
[[nodiscard]] int write_next(int descriptor, std::span<const std::byte> bytes);

}  // namespace blco
