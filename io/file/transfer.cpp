// Exact reads and writes, with system errors in words.
#include "io/file/transfer.hpp"

#include <unistd.h>

#include <system_error>

#include "blco/error.hpp"

namespace blco {
namespace {

// `write(rest)` writes some of the bytes and returns their number.
template <class Write>
int write_all(std::span<const std::byte> rest, const Write& write) {
  while (!rest.empty()) {
    const ssize_t count = uninterrupted([&] { return write(rest); });
    if (count < 0) return errno;
    if (count == 0) return ENOSPC;
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  return 0;
}

}  // namespace

void read_at(int descriptor, std::uint64_t offset, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t count =
        uninterrupted([&] { return ::pread(descriptor, out.data(), out.size(), static_cast<off_t>(offset)); });
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

int write_at(int descriptor, std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::byte* const begin = bytes.data();
  return write_all(bytes, [&](std::span<const std::byte> rest) {
    const std::uint64_t written = static_cast<std::uint64_t>(rest.data() - begin);
    return ::pwrite(descriptor, rest.data(), rest.size(), static_cast<off_t>(offset + written));
  });
}

int write_next(int descriptor, std::span<const std::byte> bytes) {
  return write_all(bytes,
                   [&](std::span<const std::byte> rest) { return ::write(descriptor, rest.data(), rest.size()); });
}

}  // namespace blco
