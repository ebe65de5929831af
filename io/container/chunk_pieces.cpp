// Splits uncompressed columns into pieces; the thread that reads a column's last piece checks the column.
#include "io/container/chunk_pieces.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "io/container/stored_column.hpp"
#include "io/file/transfer.hpp"

namespace blco {
namespace {

// Long enough that a system call is cheap by comparison, short enough that the threads finish together.
constexpr std::uint64_t piece_bytes = std::uint64_t{512} << 10;

class PiecewiseRead final : public ChunkRead {
 public:
  PiecewiseRead(const ChunkSource& source, int descriptor, const StoredExtents& row, const ChunkView& view,
                std::span<std::byte> buffer, std::span<std::byte> scratch)
      : source_(source), descriptor_(descriptor), row_(row), view_(view), buffer_(buffer), scratch_(scratch) {
    for (std::size_t c = 0; c < column_count; ++c) {
      const std::uint64_t bytes = view_.payload[c].size();
      const std::uint64_t step = is_compressed(row_[c]) ? std::max<std::uint64_t>(bytes, 1) : piece_bytes;
      for (std::uint64_t first = 0; first < bytes; first += step) {
        pieces_.push_back({c, first, std::min(step, bytes - first)});
        ++pieces_left_[c];
      }
    }
  }

  std::size_t pieces() const override { return pieces_.size(); }

  void read(std::size_t at) noexcept override {
    const Piece& piece = pieces_[at];
    try {
      if (!has_failed_) read(piece);
      if (--pieces_left_[piece.column] == 0 && !has_failed_) accept(piece.column);
    } catch (...) {
      has_failed_ = true;
    }
  }

  ChunkView finish() override { return has_failed_ ? source_.read_chunk(view_.number, buffer_, scratch_) : view_; }

 private:
  struct Piece {
    std::size_t column;
    std::uint64_t first;
    std::uint64_t bytes;
  };

  // The column's payload within the buffer.
  std::span<std::byte> payload(std::size_t column) const {
    const std::span<const std::byte> payload = view_.payload[column];
    return buffer_.subspan(static_cast<std::size_t>(payload.data() - buffer_.data()), payload.size());
  }

  void read(const Piece& piece) {
    const StoredExtent& extent = row_[piece.column];
    if (!is_compressed(extent)) {
      return read_at(descriptor_, extent.address + piece.first,
                     payload(piece.column).subspan(piece.first, piece.bytes));
    }
    const std::lock_guard lock(scratch_mutex_);
    read_column({descriptor_}, extent, payload(piece.column), scratch_);
  }

  void accept(std::size_t column) {
    if (!may_be_shuffled(row_[column], column, view_.nnz)) return accept_column(column, view_.nnz, payload(column), {});
    const std::lock_guard lock(scratch_mutex_);
    accept_column(column, view_.nnz, payload(column), scratch_);
  }

  const ChunkSource& source_;
  int descriptor_;
  StoredExtents row_;
  ChunkView view_;
  std::span<std::byte> buffer_;
  std::span<std::byte> scratch_;
  std::vector<Piece> pieces_;
  std::array<std::atomic<std::size_t>, column_count> pieces_left_{};
  std::atomic<bool> has_failed_ = false;
  std::mutex scratch_mutex_;
};

}  // namespace

std::unique_ptr<ChunkRead> read_in_pieces(const ChunkSource& source, int descriptor, const StoredExtents& row,
                                          const ChunkView& view, std::span<std::byte> buffer,
                                          std::span<std::byte> scratch) {
  return std::make_unique<PiecewiseRead>(source, descriptor, row, view, buffer, scratch);
}

}  // namespace blco
