// What memory goes to: bytes with names, so that a plan can tell why it takes what it takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace blco {

// Terms that plans look for.
inline constexpr std::string_view output_term = "the output of a pass";
inline constexpr std::string_view duals_term = "duals of the constraints";

struct MemoryTerm {
  std::string_view name;  // in words, such as "factors"; a literal
  std::uint64_t bytes = 0;
  bool by_rank = false;  // in proportion to the rank, or more
};

class Account {
 public:
  // Adds to the term of that name. `name` must outlive this: a literal.
  void take(std::string_view name, std::uint64_t bytes) { take({name, bytes, false}); }
  void take_by_rank(std::string_view name, std::uint64_t bytes) { take({name, bytes, true}); }
  void take(const MemoryTerm& term) {
    if (term.bytes == 0) return;
    const auto same = std::ranges::find_if(
        terms_, [&](const MemoryTerm& known) { return known.name == term.name && known.by_rank == term.by_rank; });
    if (same == terms_.end()) return terms_.push_back(term);
    same->bytes += term.bytes;
  }
  void take(const Account& other) {
    for (const MemoryTerm& term : other.terms_) take(term);
  }

  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const MemoryTerm& term : terms_) sum += term.bytes;
    return sum;
  }
  const std::vector<MemoryTerm>& terms() const { return terms_; }

 private:
  std::vector<MemoryTerm> terms_;
};

}  // namespace blco
