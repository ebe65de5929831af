// A stream of text from a file: plain, or decompressed from gzip or zstd on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace blco {

class TextSource {
 public:
  virtual ~TextSource() = default;

  // Writes up to out.size() bytes of text and returns how many; 0 only at the end. Throws Error{io} if the file cannot
  // be read, Error{corrupt} naming file and place if a compressed stream is damaged, truncated or followed by anything
  // but zeros (gzip) or further members. Afterwards the source is not to be used.
  virtual std::size_t read(std::span<char> out) = 0;

  // Bytes of the file that the text so far was made from.
  virtual std::uint64_t bytes_read() const = 0;
};

// Throws Error{io} unless the file can be opened for reading, as far as can be told without opening it: that would
// break a pipe.
void check_readable(const std::filesystem::path& file);

// Opens a file or a pipe; its first bytes tell the compression, whatever the name. Throws Error{io}.
// Memory: less than 1 MiB, and the window of a zstd stream (at most 128 MiB, 2 MiB at zstd's default level).
std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path);

}  // namespace blco
