// SIGINT and SIGTERM as a wish: the job ends in order at its next report of progress.
#pragma once

namespace blco::cli {

// From here on the first of these signals is remembered, and says `note` (which must live on) on standard error; the
// second ends the process at once.
void catch_interrupts(const char* note);

bool is_interrupted();

}  // namespace blco::cli
