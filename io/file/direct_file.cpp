#include "io/file/direct_file.hpp"

#include <fcntl.h>

#include <algorithm>
#include <memory>

#include "io/file/transfer.hpp"

namespace blco {

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
