// The signal handler and its flag.
#include "tools/programs/interrupt.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace blco::cli {
namespace {

constexpr std::array caught_signals{SIGINT, SIGTERM, SIGHUP};

// The handler may run on any thread.
std::atomic<bool> interrupted = false;
std::atomic<const char*> interrupt_note = "";
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<const char*>::is_always_lock_free);

void remember(int) {
  const int errno_before = errno;
  interrupted = true;
  const char* const note = interrupt_note;
  static_cast<void>(!write(STDERR_FILENO, note, std::strlen(note)));
  for (const int caught : caught_signals) std::signal(caught, SIG_DFL);
  errno = errno_before;
}

}  // namespace

void catch_interrupts(const char* note) {
  interrupt_note = note;
  for (const int caught : caught_signals) {
    struct sigaction action {};
    sigaction(caught, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // as under nohup
    action = {};
    action.sa_handler = remember;
    action.sa_flags = SA_RESTART;
    sigaction(caught, &action, nullptr);
  }
}

bool is_interrupted() { return interrupted; }

}  // namespace blco::cli
