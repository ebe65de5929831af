// Thresholds of the notes: a few rows say nothing of a table, and a short mode costs nothing.
#include "engine/ingest/ingest_notes.hpp"

#include "blco/option_name.hpp"
#include "io/text/quoted_text.hpp"

namespace blco {

std::vector<std::string> notes_on_empty_modes(const std::vector<std::uint64_t>& shape,
                                              const std::vector<std::string>& names, const std::vector<Labels>& labels,
                                              std::uint64_t entries) {
  constexpr std::uint64_t least_length = 10'000;
  constexpr std::uint64_t least_per_entry = 10;
  std::vector<std::string> notes;
  for (std::size_t n = 0; n < shape.size(); ++n) {
    if (n < labels.size() && !labels[n].empty()) continue;
    if (shape[n] < least_length || shape[n] / least_per_entry < entries) continue;
    const std::string name = n < names.size() ? names[n] : "mode" + std::to_string(n);
    notes.push_back("the mode " + quoted_for_message(name) + " has " + std::to_string(shape[n]) +
                    " indices, but at most " + std::to_string(entries) +
                    " of them have entries; a model takes memory for all: " + option_name("compact") +
                    " leaves out those without");
  }
  return notes;
}

void report_modes(const std::vector<KeyedMode>& modes, IngestReport& report) {
  constexpr std::uint64_t min_crowded_entries = 1000;
  for (std::size_t n = 0; n < modes.size(); ++n) {
    const KeyedMode& mode = modes[n];
    if (report.entries_read >= min_crowded_entries && mode.new_labels > report.entries_read / 2) {
      report.crowded_modes.push_back({n, mode.new_labels});
    }
    if (mode.bins < mode.wanted_bins) report.fewer_bins.push_back({n, mode.wanted_bins, mode.bins});
  }
}

}  // namespace blco
