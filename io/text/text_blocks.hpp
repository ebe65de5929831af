// Cuts files of text into blocks of whole lines, or of whole rows of a table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "io/text/text_preamble.hpp"
#include "io/text/text_source.hpp"

namespace blco {

struct TextBlock {
  std::vector<char> text;  // the block, followed by readable padding
  std::size_t text_bytes = 0;
  std::size_t file = 0;
  bool first_of_file = false;
  std::uint64_t skipped_lines = 0;         // before the block, if it is the first of its file; its header's too
  std::uint64_t bytes_read = 0;            // of all files, up to the end of this block
  const TextPreamble* preamble = nullptr;  // of its file; owned by the cutter
};

// Finds the header at the start of `text`, the start of file number `file` after `lines_before` lines. Returns nothing
// if more text is needed to tell; `is_whole` says that there is no more.
using HeaderFinder = std::function<std::optional<TextPreamble>(std::string_view text, bool is_whole, std::size_t file,
                                                               std::uint64_t lines_before)>;

struct CutOptions {
  std::uint64_t skip_lines = 0;  // at the start of every file
  std::size_t block_bytes = 0;
  HeaderFinder find_header = {};  // empty: find_preamble, where no lines are skipped
};

// The block boundaries depend on the input and the options alone.
class BlockCutter {
 public:
  // `files` must outlive this.
  BlockCutter(const std::vector<std::filesystem::path>& files, const CutOptions& options)
      : files_(files), options_(options) {}

  // Returns false at the end of the last file. Throws as TextSource and the finder of headers do.
  bool fill(TextBlock& block);

 private:
  void open_file();
  void find_header();
  void skip_lines();
  bool read_more(std::size_t bytes);
  bool fill_from_file(TextBlock& block);

  const std::vector<std::filesystem::path>& files_;
  CutOptions options_;
  std::size_t file_ = 0;
  std::unique_ptr<TextSource> source_;
  std::vector<char> carry_;  // text of the file after the last block
  std::uint64_t skipped_lines_ = 0;
  std::uint64_t earlier_bytes_ = 0;  // of earlier files
  std::deque<TextPreamble> preambles_;
};

}  // namespace blco
