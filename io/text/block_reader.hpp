// Shared by the text readers: files are cut into blocks of whole lines, or of whole rows of a table; one wave of blocks
// is parsed in parallel while the next is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"
#include "io/text/text_preamble.hpp"
#include "io/text/text_source.hpp"

namespace blco {

// Scans a text that grows at its end. A quote opens a field only where the field starts: at the start of the text,
// after a separator or after a line end. Within the field, two quotes are one, and a single one closes it. Any other
// quote is an ordinary character. Text without quotes costs a search for a quote, and for the last line end.
class RowScan {
 public:
  explicit RowScan(char separator) : separator_(separator) {}

  // `text` starts with a row, and with what it was in the last call. Returns the position after its last row that has
  // an end; 0 if there is none.
  std::size_t find_end(std::string_view text);

 private:
  char separator_;
  bool is_open_ = false;
  std::size_t at_ = 0;   // scanned so far
  std::size_t end_ = 0;  // of the last row
};

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
  HeaderFinder find_header = {};                   // empty: find_preamble, where no lines are skipped
  std::uint64_t window_bytes = most_window_bytes;  // as open_text_source has it
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
  void check_tail() const;

  const std::vector<std::filesystem::path>& files_;
  CutOptions options_;
  std::size_t file_ = 0;
  std::unique_ptr<TextSource> source_;
  std::vector<char> carry_;  // text of the file after the last block
  std::uint64_t skipped_lines_ = 0;
  std::uint64_t earlier_bytes_ = 0;  // of earlier files
  std::string tail_fault_;           // what the text of a file ends in; empty: nothing odd
  std::deque<TextPreamble> preambles_;
};

// Enough that all threads finish a wave at about the same time, although one of them first reads the next wave.
inline constexpr std::size_t blocks_per_thread = 4;

// A block and its parse result.
template <class Result>
struct ParsedBlock : TextBlock {
  Result result;
  std::exception_ptr failure;
};

// `Block` is a ParsedBlock. An error in reading or parsing is thrown after the entries before it.
template <class Block>
class BlockReader : public CoordinateReader {
 public:
  bool next(CoordinateBatch& batch) final {
    if (!started_) fill(filled_);
    started_ = true;
    for (;;) {
      while (delivered_ < parsed_.count) {
        Block& block = parsed_.blocks[delivered_++];
        if (block.failure) std::rethrow_exception(block.failure);
        bytes_read_ = block.bytes_read;
        if (deliver(block, batch)) return true;
      }
      if (parsed_.failure) std::rethrow_exception(parsed_.failure);
      if (parsed_.is_last) {
        end_delivery();
        parsed_ = {.blocks = {}, .count = 0, .is_last = true, .failure = {}};
        filled_ = {};
        delivered_ = 0;
        return false;
      }
      advance();
    }
  }

  std::string name() const final {
    std::string joined;
    for (const std::filesystem::path& file : files_) joined += (joined.empty() ? "" : ", ") + file.string();
    return joined;
  }

  std::uint64_t bytes_read() const final { return bytes_read_; }

  InputSize size() const final {
    InputSize size;
    for (const std::filesystem::path& file : files_) {
      std::error_code no_plain_file;
      const std::uintmax_t bytes = std::filesystem::file_size(file, no_plain_file);
      if (no_plain_file) return {};
      size.bytes += bytes;
    }
    return size;
  }

 protected:
  BlockReader(std::vector<std::filesystem::path> files, const CutOptions& options, Executor& executor)
      : files_(std::move(files)), executor_(executor), cutter_(files_, options) {
    const std::size_t blocks = blocks_per_thread * static_cast<std::size_t>(executor.width());
    parsed_.blocks.resize(blocks);
    filled_.blocks.resize(blocks);
  }

  const std::vector<std::filesystem::path>& files() const { return files_; }
  Executor& executor() const { return executor_; }

 private:
  // The steps of a block. look_at() sees every block, and look_at_end() the end, in text order, while other blocks are
  // parsed in any order. Then finish() gets a wave, and deliver() its blocks, again in order.
  virtual void look_at(Block&) {}
  virtual void look_at_end() {}
  virtual void parse(Block& block) const = 0;
  virtual void finish(std::span<Block>) {}
  // Returns false if the block holds no entry.
  virtual bool deliver(Block& block, CoordinateBatch& batch) = 0;
  virtual void end_delivery() {}

  struct Wave {
    std::vector<Block> blocks;
    std::size_t count = 0;
    bool is_last = false;
    std::exception_ptr failure;  // of the text after the blocks
  };

  void fill(Wave& wave) {
    wave.count = 0;
    try {
      while (!wave.is_last && wave.count < wave.blocks.size()) {
        Block& block = wave.blocks[wave.count];
        if (cutter_.fill(block)) {
          look_at(block);
          ++wave.count;
        } else {
          look_at_end();
          wave.is_last = true;
        }
      }
    } catch (...) {
      wave.failure = std::current_exception();
      wave.is_last = true;
    }
  }

  void advance() {
    std::swap(parsed_, filled_);
    delivered_ = 0;
    executor_.run(parsed_.count + 1, [this](std::size_t task) {
      if (task > 0) {
        Block& block = parsed_.blocks[task - 1];
        try {
          parse(block);
        } catch (...) {
          block.failure = std::current_exception();
        }
      } else if (!parsed_.is_last) {
        fill(filled_);
      }
    });
    finish(std::span(parsed_.blocks).first(parsed_.count));
  }

  std::vector<std::filesystem::path> files_;
  Executor& executor_;
  BlockCutter cutter_;
  Wave parsed_;  // being parsed or delivered; messages need its text until then
  Wave filled_;  // being read
  bool started_ = false;
  std::size_t delivered_ = 0;
  std::uint64_t bytes_read_ = 0;
};

}  // namespace blco
