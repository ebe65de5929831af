// SIGINT, SIGTERM and SIGHUP as a wish: the job ends in order at its next report of progress.
#pragma once

namespace blco::cli {

// From here on the first of these signals is remembered, and says `note` (which must live on) on standard error; the
// second, whichever it is, ends the process at once. Those that the process was started to ignore stay ignored.
void catch_interrupts(const char* note);

bool is_interrupted();

}  // namespace blco::cli
