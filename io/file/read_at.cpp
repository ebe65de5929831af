// Exact reads at an offset, with what the system refuses in words.
#include "io/file/read_at.hpp"

#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "blco/error.hpp"

namespace blco {

void read_at(int descriptor, std::uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw Error(ErrorKind::io, "cannot read: " + std::generic_category().message(errno));
    if (count == 0) throw Error(ErrorKind::corrupt, "the file ends before it");
    offset += static_cast<std::uint64_t>(count);
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

void read_at(int descriptor, const std::filesystem::path& path, std::uint64_t offset, std::span<std::byte> out) {
  try {
    read_at(descriptor, offset, out);
  } catch (const Error& error) {
    throw Error(error.kind(), path.string() + ": byte " + std::to_string(offset) + ": " + error.what());
  }
}

}  // namespace blco
