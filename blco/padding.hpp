// What a payload must hold where it holds nothing: the zero bytes and fields that FORMAT.md asks for.
#pragma once

#include <cstddef>
#include <span>

namespace blco {

// Checks a payload that check_payload has accepted: tail and alignment bytes, fields past the count of a last frame,
// the exponent where there is none, and that the positions of exceptions ascend, below the count. None of them changes
// what is decoded, but a decoder may rely on them. Throws Error{corrupt} without a place: the caller knows file and
// chunk.
void check_padding(std::span<const std::byte> payload);

}  // namespace blco
