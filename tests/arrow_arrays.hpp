// Arrow arrays and streams made by hand, buffer by buffer, which count what is released.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blco/arrow_abi.hpp"

namespace blco {

struct HandArray {
  std::string name;
  std::string format;
  std::int64_t length = 0;
  std::int64_t offset = 0;
  std::int64_t null_count = 0;
  std::vector<std::string> buffers = {};  // the first is the bitmap of what is valid; empty: there is none
  std::vector<HandArray> dictionary = {};

  // The same without its first cells, which stay in its buffers.
  HandArray from(std::int64_t cell) const {
    HandArray slice = *this;
    slice.offset += cell;
    slice.length -= cell;
    return slice;
  }
};

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

// Bit i is bit i % 8 of byte i / 8.
inline std::string bits_of(const std::vector<bool>& flags) {
  std::string bytes((flags.size() + 7) / 8, '\0');
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags[i]) bytes[i / 8] = static_cast<char>(bytes[i / 8] | 1 << (i % 8));
  }
  return bytes;
}

inline HandArray with_nulls(HandArray array, const std::vector<bool>& is_valid) {
  array.buffers[0] = bits_of(is_valid);
  array.null_count = -1;  // not known
  return array;
}

template <class Number>
HandArray numbers(const std::string& name, const std::string& format, const std::vector<Number>& cells) {
  return {name, format, static_cast<std::int64_t>(cells.size()), 0, 0, {"", bytes_of(cells)}};
}

inline HandArray flags(const std::string& name, const std::vector<bool>& cells) {
  return {name, "b", static_cast<std::int64_t>(cells.size()), 0, 0, {"", bits_of(cells)}};
}

template <class Offset = std::int32_t>
HandArray texts(const std::string& name, const std::vector<std::string>& cells) {
  std::vector<Offset> offsets = {0};
  std::string text;
  for (const std::string& cell : cells) offsets.push_back(static_cast<Offset>((text += cell).size()));
  const std::string format = sizeof(Offset) == 4 ? "u" : "U";
  return {name, format, static_cast<std::int64_t>(cells.size()), 0, 0, {"", bytes_of(offsets), text + '\0'}};
}

// Texts of more than 12 bytes lie in the second of two buffers, whose lengths come last.
inline HandArray text_views(const std::string& name, const std::vector<std::string>& cells) {
  std::string views;
  std::string text = "##";
  for (const std::string& cell : cells) {
    const auto length = static_cast<std::int32_t>(cell.size());
    std::string view = bytes_of<std::int32_t>({length});
    if (length <= 12) {
      view += cell;
    } else {
      view += cell.substr(0, 4) + bytes_of<std::int32_t>({1, static_cast<std::int32_t>(text.size())});
      text += cell;
    }
    view.resize(16);
    views += view;
  }
  return {name, "vu", static_cast<std::int64_t>(cells.size()),
          0,    0,    {"", views, "#", text, bytes_of<std::int64_t>({1, static_cast<std::int64_t>(text.size())})}};
}

template <class Code = std::int8_t>
HandArray coded(const std::string& name, const std::string& format, const std::vector<Code>& codes, HandArray listed) {
  HandArray array = numbers(name, format, codes);
  array.dictionary.push_back(std::move(listed));
  return array;
}

// A stream of these batches, which all have the columns of the first. Releases what it handed out twice fail the test,
// by the counts.
class HandStream {
 public:
  using Batch = std::vector<HandArray>;

  explicit HandStream(std::vector<Batch> batches) : HandStream(batches.front(), batches) {}
  HandStream(Batch schema, std::vector<Batch> batches) : schema_(std::move(schema)), batches_(std::move(batches)) {}

  // The stream fails in the place of what would come after so many batches.
  HandStream& fail_after(std::size_t batches) {
    fails_after_ = batches;
    return *this;
  }
  // What the stream says of it; null: nothing.
  HandStream& saying(const char* failure) {
    failure_ = failure;
    return *this;
  }
  // Rows that the whole of each batch leaves out at its start.
  HandStream& skip(std::int64_t rows) {
    skipped_ = rows;
    return *this;
  }

  // Rows of each batch that are null as a whole.
  HandStream& with_null_rows(const std::vector<bool>& is_valid) {
    valid_rows_ = bits_of(is_valid);
    return *this;
  }
  // Not that of a table; empty: the stream gives no schema.
  HandStream& with_root(const std::string& format) {
    root_ = format;
    return *this;
  }

  ArrowArrayStream& stream() {
    stream_ = {get_schema, get_next, get_last_error, release_stream, this};
    return stream_;
  }

  int stream_releases() const { return stream_releases_; }
  // Schemas and batches that have been handed out and not been released.
  int alive() const { return alive_; }
  int most_alive() const { return most_alive_; }

 private:
  // What one array or schema points to.
  template <class Struct>
  struct Kept {
    explicit Kept(HandStream* maker) : owner(maker) {}

    HandStream* owner;
    std::deque<HandArray> arrays;
    std::deque<std::vector<const void*>> buffers;
    std::deque<Struct> structs;
    std::vector<Struct*> children;
  };

  template <class Struct>
  static void release(Struct* root) {
    auto* const kept = static_cast<Kept<Struct>*>(root->private_data);
    --kept->owner->alive_;
    root->release = nullptr;
    delete kept;
  }
  static void release_child(ArrowArray*) {}
  static void release_child(ArrowSchema*) {}

  static HandStream& self(ArrowArrayStream* stream) { return *static_cast<HandStream*>(stream->private_data); }

  static void release_stream(ArrowArrayStream* stream) {
    ++self(stream).stream_releases_;
    stream->release = nullptr;
  }

  static const char* get_last_error(ArrowArrayStream* stream) { return self(stream).failure_; }

  template <class Struct>
  Kept<Struct>* hand_out() {
    most_alive_ = std::max(most_alive_, ++alive_);
    return new Kept<Struct>(this);
  }

  static int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
    if (self(stream).root_.empty()) return EIO;
    auto* const kept = self(stream).hand_out<ArrowSchema>();
    const auto add = [&](const HandArray& array) {
      kept->arrays.push_back(array);
      ArrowSchema& schema = kept->structs.emplace_back();
      schema = {kept->arrays.back().format.c_str(),
                kept->arrays.back().name.c_str(),
                nullptr,
                2,
                0,
                nullptr,
                nullptr,
                release_child,
                nullptr};
      return &schema;
    };
    for (const HandArray& column : self(stream).schema_) {
      ArrowSchema* const schema = add(column);
      ArrowSchema* outer = schema;
      for (const HandArray* array = &column; !array->dictionary.empty(); outer = outer->dictionary) {
        array = array->dictionary.data();
        outer->dictionary = add(*array);
      }
      kept->children.push_back(schema);
    }
    *out = {self(stream).root_.c_str(),
            "",
            nullptr,
            0,
            static_cast<std::int64_t>(kept->children.size()),
            kept->children.data(),
            nullptr,
            release<ArrowSchema>,
            kept};
    return 0;
  }

  static int get_next(ArrowArrayStream* stream, ArrowArray* out) {
    HandStream& hand = self(stream);
    if (hand.given_ == hand.fails_after_) return EIO;
    *out = {};
    if (hand.given_ == hand.batches_.size()) return 0;
    auto* const kept = hand.hand_out<ArrowArray>();
    const auto add = [&](const HandArray& array) {
      kept->arrays.push_back(array);
      auto& buffers = kept->buffers.emplace_back();
      for (const std::string& buffer : kept->arrays.back().buffers) {
        buffers.push_back(buffers.empty() && buffer.empty() ? nullptr : buffer.data());
      }
      ArrowArray& made = kept->structs.emplace_back();
      made = {array.length,
              array.null_count,
              array.offset,
              static_cast<std::int64_t>(buffers.size()),
              0,
              buffers.data(),
              nullptr,
              nullptr,
              release_child,
              nullptr};
      return &made;
    };
    const Batch& batch = hand.batches_[hand.given_++];
    for (const HandArray& column : batch) {
      ArrowArray* const made = add(column);
      ArrowArray* outer = made;
      for (const HandArray* array = &column; !array->dictionary.empty(); outer = outer->dictionary) {
        array = array->dictionary.data();
        outer->dictionary = add(*array);
      }
      kept->children.push_back(made);
    }
    hand.root_buffer_ = hand.valid_rows_.empty() ? nullptr : hand.valid_rows_.data();
    *out = {batch[0].length - hand.skipped_,
            -1,
            hand.skipped_,
            1,
            static_cast<std::int64_t>(batch.size()),
            &hand.root_buffer_,
            kept->children.data(),
            nullptr,
            release<ArrowArray>,
            kept};
    return 0;
  }

  Batch schema_;
  std::vector<Batch> batches_;
  std::size_t given_ = 0;
  std::size_t fails_after_ = ~std::size_t{0};
  const char* failure_ = "the cable is cut";
  std::int64_t skipped_ = 0;
  std::string root_ = "+s";
  std::string valid_rows_;
  const void* root_buffer_ = nullptr;
  ArrowArrayStream stream_ = {};
  int stream_releases_ = 0;
  int alive_ = 0;
  int most_alive_ = 0;
};

}  // namespace blco
