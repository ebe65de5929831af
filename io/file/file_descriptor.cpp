// Exact reads and writes, with system errors in words.
#include "io/file/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
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

FileDescriptor open_readable(const std::filesystem::path& path, std::uint64_t& file_bytes) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) throw_system_error("open", path);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_system_error("read", path);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ErrorKind::io, "cannot read " + path.string() + ": it is not a regular file");
  }
  file_bytes = static_cast<std::uint64_t>(status.st_size);
  return file;
}

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

DirectFile::DirectFile(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT)) {}

std::span<const std::byte> DirectFile::read(std::uint64_t offset, std::uint64_t bytes,
                                            std::span<std::byte> room) const {
  void* memory = room.data();
  std::size_t size = room.size();
  if (std::align(direct_block_bytes, direct_piece_bytes, memory, size) == nullptr) return {};
  const std::uint64_t begin = offset / direct_block_bytes * direct_block_bytes;
  const std::uint64_t end = (offset + bytes + direct_block_bytes - 1) / direct_block_bytes * direct_block_bytes;
  const auto wanted = static_cast<std::size_t>(std::min(end - begin, direct_piece_bytes));
  const ssize_t count = uninterrupted([&] { return ::pread(file_.get(), memory, wanted, static_cast<off_t>(begin)); });
  const std::uint64_t skipped = offset - begin;
  if (count < 0 || static_cast<std::uint64_t>(count) <= skipped) return {};
  const std::uint64_t there = std::min(static_cast<std::uint64_t>(count) - skipped, bytes);
  return {static_cast<const std::byte*>(memory) + skipped, static_cast<std::size_t>(there)};
}

}  // namespace blco
