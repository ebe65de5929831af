// The files that a job is going to write, claimed before its work begins and not only when it writes them.
#pragma once

#include <filesystem>
#include <vector>

namespace blco {

class OutputClaim;

// While this object lives, no other job, in this process or another, can write these files, except by this object: see
// CpdOptions::claims and save() in model.hpp. On a file system without locks it keeps nobody away.
class OutputClaims {
 public:
  OutputClaims();
  ~OutputClaims();
  OutputClaims(const OutputClaims&) = delete;
  OutputClaims& operator=(const OutputClaims&) = delete;

  // Claims a file, which need not exist; the same file twice is one claim. Throws Error{io} if another job has claimed
  // it or is writing it, or if its place takes no file.
  void add(const std::filesystem::path& file);

  // Null if there is no claim of this file. Throws Error{io} if its place takes no file.
  const OutputClaim* find(const std::filesystem::path& file) const;

 private:
  std::vector<OutputClaim> claims_;
};

}  // namespace blco
