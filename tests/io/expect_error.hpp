// Asserts that something throws a blco::Error of a kind, and looks at its message.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "blco/error.hpp"

namespace blco {

// The message of the Error that `call` must throw; a failure of the test and an empty text if it does not.
template <class Call>
std::string message_of_error(ErrorKind kind, Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

template <class Call>
void expect_error(ErrorKind kind, const std::string& words, Call&& call) {
  EXPECT_THAT(message_of_error(kind, call), testing::HasSubstr(words));
}

}  // namespace blco
