// A stream of text from a file, plain or decompressed from gzip or zstd.
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

  // Writes up to out.size() bytes of text and returns their number; 0 only at the end. Throws Error: io (cannot be
  // read, or is shorter than when it was opened), corrupt naming file and place (a compressed stream is damaged,
  // truncated, or followed by anything but further members or, for gzip, zeros). After an error the source must not be
  // used.
  virtual std::size_t read(std::span<char> out) = 0;

  // Bytes of the file consumed for the text so far.
  virtual std::uint64_t bytes_read() const = 0;
};

// The largest window of a zstd stream that is read, whatever the memory.
inline constexpr std::uint64_t most_window_bytes = std::uint64_t{128} << 20;

// `/dev/stdin`. Opened by that name it would be read from its beginning again, and a socket not at all.
inline bool is_standard_input(const std::filesystem::path& file) { return file == "/dev/stdin"; }

// Whether a file that begins so is decompressed.
bool is_compressed_text(std::span<const char> head);

// Throws Error{io} if the file cannot be opened for reading, as far as that can be told without opening it, which would
// break a pipe.
void check_readable(const std::filesystem::path& file);

// Opens a file or a pipe; its first bytes tell the compression, whatever the name. /dev/stdin is read from where it
// stands. Throws Error{io}. Memory: less than 1 MiB, plus the window of a zstd stream: 2 MiB at zstd's default level,
// at most 8 MiB up to level 19, and with --long or --ultra at most `window_bytes`; read() throws
// Error{invalid_argument} for a larger one.
std::unique_ptr<TextSource> open_text_source(const std::filesystem::path& path,
                                             std::uint64_t window_bytes = most_window_bytes);

}  // namespace blco
