// Finds keys that differ as texts but not as numbers.
#pragma once

#include "blco/labels.hpp"
#include "io/table/key_pairs.hpp"

namespace blco {

// Such as 1, 1.0, 01 and 1e0; blanks around a key do not count, and `decimal` is the decimal sign. Numbers of more than
// 15 digits are not compared, since doubles do not tell them apart. Takes 16 bytes per key that is a number, and none
// if all of these are whole numbers as programs write them.
KeyPairs find_equal_numbers(const Labels& keys, char decimal);

}  // namespace blco
