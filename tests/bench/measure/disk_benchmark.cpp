// Streams a container into a ring of buffers that nothing computes on, beside a plain read of the file.
#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "blco/option_name.hpp"
#include "engine/common/thread_pool.hpp"
#include "engine/stream/streamer.hpp"
#include "engine/tensor/tensor_chunks.hpp"
#include "engine/tensor/tensor_sizes.hpp"
#include "io/container/container_reader.hpp"
#include "io/file/file_descriptor.hpp"
#include "tests/bench/measure/benchmark.hpp"
#include "tests/bench/measure/discarding_backend.hpp"

namespace blco {
namespace {

constexpr std::uint64_t plain_block_bytes = std::uint64_t{1} << 20;

double processor_seconds() {
  rusage used{};
  static_cast<void>(getrusage(RUSAGE_SELF, &used));
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

class Cache {
 public:
  explicit Cache(const std::filesystem::path& path) : path_(path), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!file_.is_open()) throw_system_error("open", path);
  }

  // Only advice: where the system ignores it, a cold read is a warm one.
  void drop() const { static_cast<void>(::posix_fadvise(file_.get(), 0, 0, POSIX_FADV_DONTNEED)); }

  // As dd does with blocks of 1 MiB.
  void read(std::uint64_t bytes) const {
    std::vector<std::byte> block(plain_block_bytes);
    for (std::uint64_t first = 0; first < bytes; first += block.size()) {
      const std::uint64_t size = std::min<std::uint64_t>(block.size(), bytes - first);
      read_at(file_.get(), path_, first, std::span(block).first(static_cast<std::size_t>(size)));
    }
  }

 private:
  std::filesystem::path path_;
  FileDescriptor file_;
};

// The time of one pass of `work`; of several, the one of median duration. Once before for what only a first call pays.
DiskMeasurement measure(const std::function<void()>& work, const Cache& cache, int repeats, DiskMeasurement labels) {
  if (!labels.cold) work();
  std::vector<DiskMeasurement> all(static_cast<std::size_t>(repeats), labels);
  for (DiskMeasurement& one : all) {
    if (one.cold) cache.drop();
    const double used = processor_seconds();
    const auto begin = std::chrono::steady_clock::now();
    work();
    one.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    one.processor_seconds = processor_seconds() - used;
  }
  std::ranges::sort(all, {}, &DiskMeasurement::seconds);
  return all[all.size() / 2];
}

StreamPlan plan_of(const TensorSizes& sizes, const DiskMeasurement& labels) {
  StreamPlan plan;
  plan.tiers.assign(sizes.chunks.size(), Tier::streamed);
  plan.readers = labels.readers;
  plan.slots = labels.readers + 2;
  plan.slot_bytes = sizes.largest_buffer();
  plan.scratch_bytes = sizes.largest_scratch();
  plan.direct_bytes = labels.direct ? direct_room_bytes : 0;
  return plan;
}

// From disk through the system's cache and past it, then from the cache.
std::vector<DiskMeasurement> planned_reads(int threads) {
  std::vector<int> readers;
  for (int count = 1; count < threads; count *= 2) readers.push_back(count);
  readers.push_back(threads);
  std::vector<DiskMeasurement> reads;
  for (const auto& [cold, direct] : {std::pair{true, false}, {true, true}, {false, false}}) {
    if (!direct) reads.push_back({.cold = cold});
    for (const int count : readers) reads.push_back({.readers = count, .cold = cold, .direct = direct});
  }
  return reads;
}

}  // namespace

DiskReport benchmark_disk(const TensorFile& tensor, const DiskOptions& options) {
  if (options.repeats < 1) throw Error(ErrorKind::invalid_argument, option_name("repeats") + " must be at least 1");
  const TensorSizes sizes = measure_tensor(TensorChunks::of(tensor));
  const Cache cache(TensorChunks::of(tensor).name());
  DiskReport report;
  report.nnz = tensor.nnz();
  report.file_bytes = tensor.summary().file_bytes;
  for (const ChunkSizes& chunk : sizes.chunks) {
    report.stored_bytes += chunk.stored_bytes;
    report.payload_bytes += chunk.payload_bytes;
  }

  for (const DiskMeasurement& labels : planned_reads(ThreadPool(options.threads).width())) {
    if (labels.readers == 0) {
      report.reads.push_back(measure([&] { cache.read(report.file_bytes); }, cache, options.repeats, labels));
      continue;
    }
    DiscardingBackend backend;
    Streamer streamer(TensorChunks::of(tensor), plan_of(sizes, labels), backend);
    report.reads.push_back(measure([&] { streamer.pass(0, Direction::forward); }, cache, options.repeats, labels));
  }
  return report;
}

}  // namespace blco
