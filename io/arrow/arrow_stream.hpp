// Owners of an Arrow stream, its schema and its batches: each is released once, whatever happens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "blco/arrow_abi.hpp"

namespace blco {

// Owns one of the three structs of the interface; an empty one has no `release`.
template <class Struct>
class ArrowOwner {
 public:
  ArrowOwner() = default;
  // Takes over what `from` has.
  explicit ArrowOwner(Struct& from) : owned_(std::exchange(from, Struct{})) {}
  ArrowOwner(ArrowOwner&& other) noexcept : owned_(std::exchange(other.owned_, Struct{})) {}
  ArrowOwner& operator=(ArrowOwner&& other) noexcept {
    std::swap(owned_, other.owned_);
    return *this;
  }
  ~ArrowOwner() {
    if (owned_.release != nullptr) owned_.release(&owned_);
  }

  Struct* operator->() { return &owned_; }
  const Struct* operator->() const { return &owned_; }
  Struct& operator*() { return owned_; }
  const Struct& operator*() const { return owned_; }

 private:
  Struct owned_ = {};
};

class ArrowStream {
 public:
  // Takes the stream over, and leaves `stream` released. Throws Error{invalid_argument} if it is released already.
  explicit ArrowStream(ArrowArrayStream& stream);

  // Throws Error, with the words of the stream: invalid_argument if it gives no table, io if it fails.
  ArrowOwner<ArrowSchema> read_schema();
  // The next batch, or nothing at the end. `rows_before` is for messages. Throws Error: io with the words of the
  // stream; corrupt if the batch has another number of columns, or a negative length; invalid_argument if it has rows
  // that are null as a whole.
  std::optional<ArrowOwner<ArrowArray>> next(std::uint64_t rows_before, std::size_t columns);

 private:
  ArrowOwner<ArrowArrayStream> stream_;
};

}  // namespace blco
