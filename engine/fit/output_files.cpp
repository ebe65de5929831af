#include "engine/fit/output_files.hpp"

#include <algorithm>

namespace blco {

OutputFiles::OutputFiles(const std::vector<std::filesystem::path>& files) {
  for (const std::filesystem::path& file : files) {
    if (!file.empty() && claim_of(file) == nullptr) claims_.emplace_back(file);
  }
}

const OutputClaim* OutputFiles::claim_of(const std::filesystem::path& file) const {
  const auto claim = std::ranges::find_if(claims_, [&](const OutputClaim& each) { return each.covers(file); });
  return claim == claims_.end() ? nullptr : &*claim;
}

void OutputFiles::note_checkpoint(const std::filesystem::path& checkpoint, bool is_saved) {
  checkpoint_ = is_saved ? checkpoint : std::filesystem::path();
}

}  // namespace blco
