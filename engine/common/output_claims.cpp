// Claims are locks of io/file.
#include <algorithm>
#include <blco/output_claims.hpp>

#include "io/file/temporary_file.hpp"

namespace blco {

OutputClaims::OutputClaims() = default;
OutputClaims::~OutputClaims() = default;

void OutputClaims::add(const std::filesystem::path& file) {
  if (find(file) == nullptr) claims_.emplace_back(file);
}

const OutputClaim* OutputClaims::find(const std::filesystem::path& file) const {
  const auto claim = std::ranges::find_if(claims_, [&](const OutputClaim& each) { return each.covers(file); });
  return claim == claims_.end() ? nullptr : &*claim;
}

}  // namespace blco
