// Writes FROSTT text, plain or compressed by the name's ending (.gz, .zst).
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace blco {

// Takes text in order; the file appears under its name at finish(). Throws Error{io}, a full disk included.
class TnsWriter {
 public:
  explicit TnsWriter(const std::filesystem::path& output);
  ~TnsWriter();

  // Whole lines, or parts of them.
  void write(std::string_view text);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
