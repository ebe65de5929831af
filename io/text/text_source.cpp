// A stream of text from a file: plain read(2), gzip by ISA-L, zstd.
#include "io/text/text_source.hpp"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t input_buffer_bytes = std::size_t{256} << 10;

// The file, and a buffer of bytes read but not yet consumed.
class InputBuffer {
 public:
  explicit InputBuffer(const fs::path& path) : path_(path), data_(input_buffer_bytes) {
    file_ = FileDescriptor(is_standard_input(path) ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                                                   : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file_.is_open()) throw_system_error("open", path_);
    struct stat status {};
    if (::fstat(file_.get(), &status) != 0) throw_system_error("read", path_);
    if (S_ISDIR(status.st_mode)) throw Error(ErrorKind::io, "cannot read " + path.string() + ": it is a folder");
    if (S_ISREG(status.st_mode)) {
      const off_t begin = std::max<off_t>(0, ::lseek(file_.get(), 0, SEEK_CUR));
      least_bytes_ = static_cast<std::uint64_t>(std::max<off_t>(0, status.st_size - begin));
    }
    ::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }

  const fs::path& path() const { return path_; }
  std::uint64_t taken_bytes() const { return file_bytes_ - (end_ - begin_); }
  std::span<char> available() { return std::span(data_).subspan(begin_, end_ - begin_); }
  void take(std::size_t count) { begin_ += count; }

  // Reads until at least `count` bytes are available; false if the file ends first.
  bool require(std::size_t count) {
    if (end_ - begin_ >= count) return true;
    std::memmove(data_.data(), data_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    while (end_ < count) {
      const std::size_t got = read_file(std::span(data_).subspan(end_));
      if (got == 0) return false;
      end_ += got;
    }
    return true;
  }

  // Reads directly from the file. Requires: the buffer is empty.
  std::size_t read_file(std::span<char> out) {
    const ssize_t got = uninterrupted([&] { return ::read(file_.get(), out.data(), out.size()); });
    if (got < 0) throw_system_error("read", path_);
    file_bytes_ += static_cast<std::uint64_t>(got);
    if (got == 0 && file_bytes_ < least_bytes_) {
      throw Error(ErrorKind::io, path_.string() + " became shorter while it was read: it had " +
                                     std::to_string(least_bytes_) + " bytes, but ended after " +
                                     std::to_string(file_bytes_) + "; start again once no other program writes to it");
    }
    return static_cast<std::size_t>(got);
  }

  [[noreturn]] void fail_corrupt(const std::string& what) const {
    throw Error(ErrorKind::corrupt, path_.string() + ": " + what + " near byte " + std::to_string(taken_bytes()) +
                                        "; copy or make the file again");
  }

 private:
  fs::path path_;
  FileDescriptor file_;
  std::vector<char> data_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t file_bytes_ = 0;
  std::uint64_t least_bytes_ = 0;  // what a regular file had when it was opened; it may grow
};

class PlainSource final : public TextSource {
 public:
  explicit PlainSource(InputBuffer input) : input_(std::move(input)) {}

  std::size_t read(std::span<char> out) override {
    const std::span<char> ready = input_.available();
    if (ready.empty()) return input_.read_file(out);
    const std::size_t count = std::min(ready.size(), out.size());
    std::memcpy(out.data(), ready.data(), count);
    input_.take(count);
    return count;
  }

  std::uint64_t bytes_read() const override { return input_.taken_bytes(); }

 private:
  InputBuffer input_;
};

class GzipSource final : public TextSource {
 public:
  explicit GzipSource(InputBuffer input) : input_(std::move(input)), state_(std::make_unique<inflate_state>()) {
    start_member();
  }

  std::size_t read(std::span<char> out) override {
    while (!ended_) {
      if (state_->block_state == ISAL_BLOCK_FINISH) {
        next_member();
        continue;
      }
      const bool more = input_.require(1);
      const std::size_t made = inflate(out);
      if (made > 0) return made;
      if (!more && state_->block_state != ISAL_BLOCK_FINISH) input_.fail_corrupt("the gzip stream is truncated");
    }
    return 0;
  }

  std::uint64_t bytes_read() const override { return input_.taken_bytes(); }

 private:
  void start_member() {
    isal_inflate_init(state_.get());
    state_->crc_flag = ISAL_GZIP;
  }

  // After a member comes another one, zeros that pad the file (tapes, block devices), or the end.
  void next_member() {
    if (input_.require(2) && input_.available()[0] == '\x1f' && input_.available()[1] == '\x8b') {
      start_member();
      return;
    }
    while (input_.require(1)) {
      const std::span<char> rest = input_.available();
      if (!std::all_of(rest.begin(), rest.end(), [](char byte) { return byte == '\0'; })) {
        input_.fail_corrupt("bytes that are not gzip follow the gzip stream");
      }
      input_.take(rest.size());
    }
    ended_ = true;
  }

  std::size_t inflate(std::span<char> out) {
    const std::span<char> in = input_.available();
    const std::size_t room = std::min(out.size(), std::size_t{1} << 30);  // ISA-L's counters have 32 bits
    state_->next_in = reinterpret_cast<std::uint8_t*>(in.data());
    state_->avail_in = static_cast<std::uint32_t>(in.size());
    state_->next_out = reinterpret_cast<std::uint8_t*>(out.data());
    state_->avail_out = static_cast<std::uint32_t>(room);
    const int code = isal_inflate(state_.get());
    input_.take(in.size() - state_->avail_in);
    if (code < 0) input_.fail_corrupt(explain(code));
    return room - state_->avail_out;
  }

  static std::string explain(int code) {
    if (code == ISAL_INCORRECT_CHECKSUM) return "the gzip stream is damaged (its checksum does not match)";
    if (code == ISAL_INVALID_WRAPPER || code == ISAL_UNSUPPORTED_METHOD) return "the gzip header is damaged";
    return "the gzip stream is damaged";
  }

  InputBuffer input_;
  std::unique_ptr<inflate_state> state_;
  bool ended_ = false;
};

class ZstdSource final : public TextSource {
 public:
  ZstdSource(InputBuffer input, std::uint64_t window_bytes)
      : input_(std::move(input)), stream_(ZSTD_createDStream()), window_log_(window_log(window_bytes)) {
    if (!stream_) throw Error(ErrorKind::out_of_memory, "no memory to decompress " + input_.path().string());
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, window_log_);
  }

  std::size_t read(std::span<char> out) override {
    for (;;) {
      const bool more = input_.require(1);
      if (!more && frame_ended_) return 0;
      const std::span<char> ready = input_.available();
      ZSTD_inBuffer from{ready.data(), ready.size(), 0};
      ZSTD_outBuffer to{out.data(), out.size(), 0};
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &to, &from);
      if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge) {
        throw Error(ErrorKind::invalid_argument,
                    input_.path().string() + ": to decompress it takes a window of more than " +
                        std::to_string((std::uint64_t{1} << window_log_) >> 20) + " MiB" +
                        (window_log_ < most_window_log ? "; raise " + option_name("memory_bytes") + ", or" : ";") +
                        " decompress it before (zstd -d --long=31 FILE), or compress it without --long and --ultra");
      }
      if (ZSTD_isError(left)) {
        input_.fail_corrupt(std::string("the zstd stream is damaged (") + ZSTD_getErrorName(left) + ")");
      }
      input_.take(from.pos);
      frame_ended_ = left == 0;
      if (to.pos > 0) return to.pos;
      if (!more && !frame_ended_) input_.fail_corrupt("the zstd stream is truncated");
    }
  }

  std::uint64_t bytes_read() const override { return input_.taken_bytes(); }

 private:
  struct FreeStream {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  // All levels up to 19 need no more than 8 MiB.
  static constexpr int least_window_log = 23;
  static constexpr int most_window_log = static_cast<int>(std::bit_width(most_window_bytes)) - 1;
  static int window_log(std::uint64_t bytes) {
    return std::clamp(static_cast<int>(std::bit_width(bytes)) - 1, least_window_log, most_window_log);
  }

  InputBuffer input_;
  std::unique_ptr<ZSTD_DStream, FreeStream> stream_;
  int window_log_;
  bool frame_ended_ = true;
};

bool is_gzip(std::span<const char> head) { return head.size() >= 2 && head[0] == '\x1f' && head[1] == '\x8b'; }

// RFC 8878: 0xFD2FB528 starts a frame, 0x184D2A50 to 0x184D2A5F a skippable frame.
bool is_zstd(std::span<const char> head) {
  if (head.size() < 4) return false;
  std::array<std::uint8_t, 4> byte;
  std::memcpy(byte.data(), head.data(), 4);
  const bool frame = byte == std::array<std::uint8_t, 4>{0x28, 0xb5, 0x2f, 0xfd};
  const bool skippable = (byte[0] & 0xf0) == 0x50 && byte[1] == 0x2a && byte[2] == 0x4d && byte[3] == 0x18;
  return frame || skippable;
}

}  // namespace

bool is_compressed_text(std::span<const char> head) { return is_gzip(head) || is_zstd(head); }

void check_readable(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) throw_system_error("open", file);
  if (S_ISDIR(status.st_mode)) throw Error(ErrorKind::io, "cannot read " + file.string() + ": it is a folder");
  if (is_standard_input(file)) return;  // it is open, whoever may open it again
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0) throw_system_error("open", file);
}

std::unique_ptr<TextSource> open_text_source(const fs::path& path, std::uint64_t window_bytes) {
  InputBuffer input(path);
  input.require(16);
  const std::span<const char> head = input.available();
  if (is_gzip(head)) return std::make_unique<GzipSource>(std::move(input));
  if (is_zstd(head)) return std::make_unique<ZstdSource>(std::move(input), window_bytes);
  const std::string_view start(head.data(), head.size());
  const bool is_zip = start.starts_with("PK\x03\x04");
  if (is_zip || start.starts_with("\x89HDF") || start.starts_with("MATLAB 7.3")) {
    throw Error(ErrorKind::invalid_argument, path.string() + ": arrays (" +
                                                 (is_zip ? "a NumPy archive or another zip" : "an HDF5") +
                                                 " file) cannot be read from a pipe; name a file" +
                                                 (is_zip ? ", or unpack a zip of text into the pipe (funzip)" : ""));
  }
  return std::make_unique<PlainSource>(std::move(input));
}

}  // namespace blco
