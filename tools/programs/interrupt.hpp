// Treats SIGINT, SIGTERM and SIGHUP as requests: the job ends cleanly at its next progress report.
#pragma once

namespace blco::cli {

// From here on, the first of these signals is recorded and prints `note` (a string that must stay valid) on stderr; a
// second one, of any kind, ends the process at once. Signals that were ignored at the start of the process stay
// ignored.
void catch_interrupts(const char* note);

bool is_interrupted();

}  // namespace blco::cli
