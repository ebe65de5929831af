// Finds keys that look alike: blanks around them differ, or the form in which Unicode writes their accents.
#pragma once

#include <string>

#include "blco/labels.hpp"
#include "io/table/key_pairs.hpp"

namespace blco {

// Blanks are spaces and tabs. A letter with accents may be one character or a letter and combining marks (the forms NFC
// and NFD); those of Latin, Greek and Cyrillic are compared, not those of other scripts. Takes 16 bytes per key with
// blanks around it or with marks, and per key that may look like one; none if no key has any.
KeyPairs find_alike_keys(const Labels& keys);

// The pair for a message, with the characters that differ where the texts look the same.
std::string show_alike_keys(const Labels& keys, const KeyPairs& alike);

}  // namespace blco
