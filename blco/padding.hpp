// Checks the unused parts of a payload: the bytes and fields that FORMAT.md requires to be zero.
#pragma once

#include <cstddef>
#include <span>

namespace blco {

// Checks a payload that check_payload has accepted: tail and alignment bytes, fields past the count in the last frame,
// the exponent of codecs that have none, and that exception positions ascend and lie below the count. None of this
// changes the decoded entries, but a decoder may rely on it. Throws Error{corrupt}; the caller adds file and chunk.
void check_padding(std::span<const std::byte> payload);

}  // namespace blco
