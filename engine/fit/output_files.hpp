// The files that one or several fits write, claimed before their work begins and not only when they write them.
#pragma once

#include <blco/error.hpp>
#include <blco/model.hpp>
#include <blco/tucker_model.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/model/model_check.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {

// While this object lives, no other job, in this process or another, can write these files. On a file system without
// locks it keeps nobody away.
class OutputFiles {
 public:
  // Claims files, which need not exist; the same file twice is one claim, and an empty name none. Throws Error{io} if
  // another job has claimed one or is writing it, or if its place takes no file.
  explicit OutputFiles(const std::vector<std::filesystem::path>& files);

  // Null if there is no claim of this file. Throws Error{io} if its place takes no file.
  const OutputClaim* claim_of(const std::filesystem::path& file) const;
  // Whether the last model of the fit is saved there.
  void note_checkpoint(const std::filesystem::path& checkpoint, bool is_saved);

  // Saves the model of the fit; empty: nowhere. Throws Error as save() does, and says if the checkpoint holds the
  // model.
  template <class Model>
  void save(const Model& model, const std::filesystem::path& output) const {
    if (output.empty()) return;
    try {
      save_claimed(model, output, claim_of(output));
    } catch (const Error& error) {
      if (checkpoint_.empty()) throw;
      throw Error(error.kind(),
                  std::string(error.what()) + "; the checkpoint " + checkpoint_.string() + " holds this model");
    }
  }

 private:
  std::vector<OutputClaim> claims_;
  std::filesystem::path checkpoint_;  // empty: none, or not saved
};

}  // namespace blco
