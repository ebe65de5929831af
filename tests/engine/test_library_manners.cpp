// What a library must not do to its host: print, or change what a signal does.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <blco/cpd.hpp>
#include <blco/generate.hpp>
#include <blco/memory_tensor.hpp>
#include <blco/predict.hpp>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>

#include "tests/engine/ingest/coordinate_columns.hpp"
#include "tests/engine/within_budget.hpp"
#include "tests/temporary_folder.hpp"

namespace blco {
namespace {

// Sends both standard streams to a file for as long as it lives.
class CapturedStreams {
 public:
  explicit CapturedStreams(const std::filesystem::path& file) {
    flush();
    const int target = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      saved_[stream == STDERR_FILENO] = ::dup(stream);
      ::dup2(target, stream);
    }
    ::close(target);
  }
  ~CapturedStreams() {
    flush();
    for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
      ::dup2(saved_[stream == STDERR_FILENO], stream);
      ::close(saved_[stream == STDERR_FILENO]);
    }
  }
  CapturedStreams(const CapturedStreams&) = delete;
  CapturedStreams& operator=(const CapturedStreams&) = delete;

 private:
  static void flush() {
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
  }
  std::array<int, 2> saved_{};
};

struct Disposition {
  void (*handler)(int);
  int flags;
  bool operator==(const Disposition&) const = default;
};

std::vector<Disposition> dispositions() {
  std::vector<Disposition> all;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) == 0) all.push_back({action.sa_handler, action.sa_flags});
  }
  return all;
}

sigset_t blocked_signals() {
  sigset_t set;
  sigemptyset(&set);
  pthread_sigmask(SIG_SETMASK, nullptr, &set);
  return set;
}

template <class Call>
void expect_error(ErrorKind kind, Call&& call) {
  try {
    call();
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
  }
}

// A job that goes well, one that is cancelled, and one of each that fails where HDF5 would print.
void use_the_library(const TemporaryFolder& folder) {
  const CoordinateTensor tensor = random_coordinates({.shape = {60, 50, 40}, .nnz = 20'000, .seed = 3});
  const CoordinateColumns<> columns(tensor);
  const MemoryTensor memory(columns.arrays(), {.chunk_nnz = 1000});
  const CpdModel model = fit_cpd(memory, {.rank = 3, .max_sweeps = 3, .compute = {.devices = {}}});
  save(model, folder / "model.h5");
  EXPECT_EQ(load_model(folder / "model.h5").factors, model.factors);

  const CpdModel cancelled = fit_cpd(memory, {.rank = 3, .on_sweep = [](const SweepReport&) { return false; }});
  EXPECT_EQ(cancelled.stop_reason, StopReason::cancelled);

  ingest_coordinates(columns.arrays(), folder / "in.blco", {.chunk_nnz = 1000});
  fit_cpd(TensorFile(folder / "in.blco"), {.rank = 3, .max_sweeps = 1});
  std::string damaged = file_contents(folder / "in.blco");
  damaged.resize(damaged.size() / 2);
  const auto broken = folder.write("broken.blco", damaged);
  expect_error(ErrorKind::corrupt, [&] { TensorFile{broken}; });
  expect_error(ErrorKind::invalid_argument, [&] { TensorFile(folder / "model.h5"); });
  expect_error(ErrorKind::invalid_argument, [&] { load_model(folder.write("text.h5", "1 1 1\n")); });
  expect_error(ErrorKind::io, [&] { load_model(folder / "absent.h5"); });
  expect_error(ErrorKind::io, [&] { save(model, folder / "absent" / "model.h5"); });
  expect_error(ErrorKind::invalid_argument,
               [&] { ingest_files({folder.write("in.tns", "1 1 nan\n")}, folder / "out.blco"); });
  expect_error(ErrorKind::out_of_memory, [&] { fit_cpd(memory, within({.host_bytes = 1000}, {.rank = 3})); });
  const auto entries = folder.write("entries.tns", "1 1 1 2\n2 50 3 1\n");
  EXPECT_EQ(write_predictions(model, entries, folder / "predicted.csv").entries, 2u);
  expect_error(ErrorKind::io, [&] { write_predictions(model, folder / "absent.tns", folder / "predicted.csv"); });
  generate_text({.shape = {10, 10}, .nnz = 100}, folder / "made.tns.gz");
}

TEST(LibraryManners, PrintsNothing) {
  const TemporaryFolder folder;
  {
    const CapturedStreams captured(folder / "captured");
    use_the_library(folder);
  }
  EXPECT_EQ(file_contents(folder / "captured"), "");
}

TEST(LibraryManners, TheCaptureSeesWhatIsPrinted) {
  const TemporaryFolder folder;
  {
    const CapturedStreams captured(folder / "captured");
    std::cout << "a";
    std::fputs("b", stderr);
  }
  EXPECT_THAT(file_contents(folder / "captured"), testing::AllOf(testing::HasSubstr("a"), testing::HasSubstr("b")));
}

TEST(LibraryManners, LeavesEverySignalAsItWas) {
  const TemporaryFolder folder;
  const std::vector<Disposition> before = dispositions();
  const sigset_t blocked = blocked_signals();

  use_the_library(folder);

  EXPECT_EQ(dispositions(), before);
  const sigset_t blocked_after = blocked_signals();
  for (int number = 1; number < NSIG; ++number) {
    EXPECT_EQ(sigismember(&blocked_after, number), sigismember(&blocked, number)) << number;
  }
  EXPECT_GT(before.size(), 30);
}

}  // namespace
}  // namespace blco
