// Writes FROSTT text, plain or compressed as the name's ending tells (.gz, .zst).
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

namespace blco {

// Takes text in order; the file appears under its name at finish(). Throws Error{io}, also on a full disk.
class TnsWriter {
 public:
  explicit TnsWriter(const std::filesystem::path& output);
  ~TnsWriter();

  // Whole lines or parts of lines.
  void write(std::string_view text);
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace blco
