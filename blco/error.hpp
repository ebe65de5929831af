// The one exception type of the library: every failure is an Error with a kind.
#pragma once

#include <stdexcept>
#include <string>

namespace blco {

// A kind tells the caller what to do: change the request, check the disk, replace the file, give more memory, or use
// another device. `cancelled` is the caller's own wish.
enum class ErrorKind { invalid_argument, io, corrupt, out_of_memory, cuda, not_built, cancelled };

// The message says what was wrong, where (file, line, chunk), and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}

  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace blco
