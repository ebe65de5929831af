// The loops that move all bytes between a file and memory, however the system cuts them and signals interrupt it.
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace blco {

// Repeats a system call that a signal interrupts; errno is set where it returns a negative number.
template <class Call>
ssize_t uninterrupted(const Call& call) {
  for (;;) {
    const ssize_t result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

// Reads exactly `out.size()` bytes. Throws Error: io, or corrupt where the file ends before that; without a place.
void read_at(int descriptor, std::uint64_t offset, std::span<std::byte> out);

// The same; the message names the file.
void read_at(int descriptor, const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> out);

// Write all of `bytes`, at an offset or from where the descriptor stands. Return 0, or the number of the system's
// error.
[[nodiscard]] int write_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes);
[[nodiscard]] int write_next(int descriptor, std::span<const std::byte> bytes);

}  // namespace blco
