// Shared by the text readers: waves of blocks; one wave is parsed in parallel while the next is read.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blco/executor.hpp"
#include "io/coordinate_reader.hpp"
#include "io/text/text_blocks.hpp"

namespace blco {

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
