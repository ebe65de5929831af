// Writes spans as a Chrome trace, for Perfetto (ui.perfetto.dev) or chrome://tracing.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "blco/trace.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

// Trace Event Format, complete events ("ph": "X"): one process, one thread per track, microseconds since construction.
// Spans are written as they come, so a long job needs no memory for them.
class ChromeTrace final : public TraceSink {
 public:
  // Throws Error{io} if no file can be made in the folder.
  explicit ChromeTrace(const std::filesystem::path& path);
  // Publishes what was traced so far as a complete file, unless already closed.
  ~ChromeTrace() override;

  void add(const TraceSpan& span) noexcept override;

  // Completes the file and publishes it under its name. Throws Error{io} if it could not be written.
  void close();

 private:
  int track_id(std::string_view track);

  std::mutex mutex_;
  TemporaryFile file_;
  std::ofstream out_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<std::string, int, std::less<>> tracks_;
  bool closed_ = false;
};

}  // namespace blco
