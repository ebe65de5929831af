// Shared by the fuzzers: their input taken piece by piece, files in memory, and findings.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "blco/error.hpp"
#include "io/file/file_descriptor.hpp"

// libFuzzer calls it, and so does fuzz_main.cpp.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace blco::fuzz {

// Ends the process as a crash does, which libFuzzer reports with the input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : bytes_(reinterpret_cast<const char*>(data), size) {}

  bool is_empty() const { return bytes_.empty(); }
  std::size_t size() const { return bytes_.size(); }

  // Zeros where the input has ended.
  template <class T>
  T take() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    const std::string_view taken = take_bytes(sizeof(T));
    if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
    return value;
  }
  // Below `limit`.
  std::size_t choose(std::size_t limit) { return take<std::uint8_t>() % limit; }
  bool flag() { return (take<std::uint8_t>() & 1) != 0; }

  std::string_view take_bytes(std::size_t count) {
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  std::string_view rest() { return take_bytes(bytes_.size()); }

 private:
  std::string_view bytes_;
};

// A file in memory where the system has a folder for such, of a name that HDF5 takes (it refuses those of
// memfd_create).
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes = {}) {
    std::error_code ignored;
    const std::filesystem::path shared_memory = "/dev/shm";
    path_ =
        std::filesystem::is_directory(shared_memory, ignored) ? shared_memory : std::filesystem::temp_directory_path();
    path_ /= "blco-fuzz-" + std::to_string(::getpid());
    file_ = FileDescriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    require(file_.is_open());
    append(bytes);
  }
  ~MemoryFile() { ::unlink(path_.c_str()); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return file_.get(); }
  std::uint64_t bytes() const { return std::filesystem::file_size(path_); }

  void append(std::string_view bytes) { overwrite(this->bytes(), bytes); }
  void overwrite(std::uint64_t offset, std::string_view bytes) {
    require(::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
            static_cast<ssize_t>(bytes.size()));
  }
  void truncate(std::uint64_t bytes) { require(::ftruncate(file_.get(), static_cast<off_t>(bytes)) == 0); }

 private:
  FileDescriptor file_;
  std::filesystem::path path_;
};

// Calls `job`; a refusal is what becomes of most inputs, any other exception is a finding. Returns the message.
template <class Job>
std::string refusal_of(const Job& job) {
  try {
    job();
  } catch (const Error& error) {
    require(*error.what() != '\0');
    return error.what();
  }
  return "";
}

}  // namespace blco::fuzz
