// The budget that a refusal names.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "blco/error.hpp"

namespace blco {

// Expects `call` to throw out_of_memory; returns the bytes of "memory_bytes = NKiB" in its message, or 0 if it names
// none.
template <class Call>
std::uint64_t named_budget(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::out_of_memory);
    const std::string message = error.what();
    const std::size_t at = message.find("memory_bytes = ");
    EXPECT_NE(at, std::string::npos) << message;
    return at == std::string::npos ? 0 : std::stoull(message.substr(at + 15)) << 10;
  }
  ADD_FAILURE() << "accepted";
  return 0;
}

}  // namespace blco
