// Equal shares of a loop for the threads of an executor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "blco/executor.hpp"

namespace blco {

// Calls work(part, begin, end) for `parts` ranges that cut [0, count) evenly; a range may be empty.
template <class Work>
void run_parts(Executor& executor, std::size_t parts, std::uint64_t count, const Work& work) {
  executor.run(parts, [&](std::size_t part) { work(part, count * part / parts, count * (part + 1) / parts); });
}

// The same, one range per thread: work(begin, end).
template <class Work>
void run_shares(Executor& executor, std::uint64_t count, const Work& work) {
  run_parts(executor, static_cast<std::size_t>(executor.width()), count,
            [&](std::size_t, std::uint64_t begin, std::uint64_t end) { work(begin, end); });
}

}  // namespace blco
