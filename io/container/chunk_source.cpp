// What sources have in common; reads a chunk in one piece, for those that cannot split it.
#include "io/container/chunk_source.hpp"

#include <exception>

namespace blco {
namespace {

class WholeRead final : public ChunkRead {
 public:
  WholeRead(const ChunkSource& source, std::uint64_t chunk, std::span<std::byte> buffer, std::span<std::byte> scratch)
      : source_(source), chunk_(chunk), buffer_(buffer), scratch_(scratch) {}

  std::size_t pieces() const override { return 1; }

  void read(std::size_t) noexcept override {
    try {
      view_ = source_.read_chunk(chunk_, buffer_, scratch_);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  ChunkView finish() override {
    if (failure_) std::rethrow_exception(failure_);
    return view_;
  }

 private:
  const ChunkSource& source_;
  std::uint64_t chunk_;
  std::span<std::byte> buffer_;
  std::span<std::byte> scratch_;
  ChunkView view_;
  std::exception_ptr failure_;
};

}  // namespace

std::uint64_t ChunkSource::stored_bytes(std::uint64_t chunk) const {
  std::uint64_t bytes = 0;
  for (const StoredExtent& extent : extents(chunk)) bytes += extent.stored_bytes;
  return bytes;
}

std::unique_ptr<ChunkRead> ChunkSource::begin_read(std::uint64_t chunk, std::span<std::byte> buffer,
                                                   std::span<std::byte> scratch) const {
  return std::make_unique<WholeRead>(*this, chunk, buffer, scratch);
}

}  // namespace blco
