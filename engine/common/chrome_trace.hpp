// Writes spans as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing show.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "blco/trace.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

// Trace Event Format, complete events ("ph": "X"): one process, a thread per track, microseconds since construction.
// Spans go to the file as they come, so that a long job takes no memory for them.
class ChromeTrace final : public TraceSink {
 public:
  // Throws Error{io} if the folder takes no file.
  explicit ChromeTrace(const std::filesystem::path& path);
  // What was traced so far appears as a whole file, unless it was closed before.
  ~ChromeTrace() override;

  void add(const TraceSpan& span) noexcept override;

  // Ends the file and lets it appear under its name. Throws Error{io} if it could not be written.
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
