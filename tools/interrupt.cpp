// The handler, and its flag.
#include "tools/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <cstring>

namespace blco::cli {
namespace {

volatile std::sig_atomic_t interrupted = 0;
const char* volatile interrupt_note = "";

void remember(int) {
  interrupted = 1;
  static_cast<void>(!write(STDERR_FILENO, interrupt_note, std::strlen(interrupt_note)));
}

}  // namespace

void catch_interrupts(const char* note) {
  interrupt_note = note;
  struct sigaction action {};
  action.sa_handler = remember;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool is_interrupted() { return interrupted != 0; }

}  // namespace blco::cli
