#include "engine/common/chrome_trace.hpp"

#include "blco/error.hpp"

namespace blco {
namespace {

// Names from this library need no JSON escapes; the device's name may.
std::string quoted(std::string_view text) {
  std::string quote = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quote += '\\';
    if (static_cast<unsigned char>(c) >= ' ') quote += c;
  }
  return quote += '"';
}

}  // namespace

ChromeTrace::ChromeTrace(const std::filesystem::path& path) : file_(path), out_(file_.path()) {
  if (!out_) throw Error(ErrorKind::io, "cannot write the trace " + path.string());
  out_.setf(std::ios::fixed);
  out_.precision(3);
  out_ << "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n"
       << R"({"name":"process_name","ph":"M","pid":1,"tid":0,"args":{"name":"blco"}})";
}

ChromeTrace::~ChromeTrace() {
  try {
    if (!closed_) close();
  } catch (const Error&) {
    // The job has already failed with another error, which its caller gets.
  }
}

int ChromeTrace::track_id(std::string_view track) {
  const auto known = tracks_.find(track);
  if (known != tracks_.end()) return known->second;
  const int id = static_cast<int>(tracks_.size()) + 1;
  tracks_.emplace(track, id);
  out_ << ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":" << id
       << ",\"args\":{\"name\":" << quoted(track) << "}}";
  return id;
}

void ChromeTrace::add(const TraceSpan& span) noexcept {
  using Microseconds = std::chrono::duration<double, std::micro>;
  try {
    const std::lock_guard lock(mutex_);
    const int track = track_id(span.track);
    out_ << ",\n{\"name\":" << quoted(span.name) << ",\"ph\":\"X\",\"pid\":1,\"tid\":" << track
         << ",\"ts\":" << Microseconds(span.begin - start_).count()
         << ",\"dur\":" << Microseconds(span.end - span.begin).count() << ",\"args\":{\"chunk\":" << span.chunk
         << ",\"bytes\":" << span.bytes << "}}";
  } catch (...) {
    // close() reports the error, such as a full disk.
    out_.setstate(std::ios::badbit);
  }
}

void ChromeTrace::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  out_ << "\n]}\n";
  out_.close();
  if (!out_) throw Error(ErrorKind::io, "cannot write the trace " + file_.target().string() + ": is the disk full?");
  file_.publish();
}

}  // namespace blco
