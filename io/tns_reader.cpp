// Reads FROSTT text in waves of blocks: while one wave is parsed, the next is read and decompressed.
#include "io/tns_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "blco/error.hpp"
#include "io/file_descriptor.hpp"
#include "io/text_source.hpp"
#include "io/tns_block.hpp"
#include "io/tns_fault.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

// So many that the threads end a wave together, although one of them first reads the next wave.
constexpr std::size_t blocks_per_thread = 4;
constexpr std::size_t growth_bytes = std::size_t{64} << 10;

struct Block {
  std::vector<char> text;
  std::size_t text_bytes = 0;
  std::size_t file = 0;
  bool first_of_file = false;
  std::uint64_t skipped_lines = 0;  // before the block; only where it is the first of its file
  std::uint64_t bytes_read = 0;     // of all files, up to the end of this block
  TnsBlock result;
  std::exception_ptr failure;
};

struct Wave {
  std::vector<Block> blocks;
  std::size_t count = 0;
  bool is_last = false;
  std::exception_ptr failure;  // of the text that would follow the blocks
};

// Cuts the files into blocks of whole lines, whose bounds depend on the input and the block size only.
class BlockCutter {
 public:
  BlockCutter(const std::vector<fs::path>& files, const TnsOptions& options)
      : files_(files), skip_lines_(options.skip_lines), block_bytes_(options.block_bytes) {}

  // False at the end of the last file.
  bool fill(Block& block) {
    while (source_ || file_ < files_.size()) {
      block.first_of_file = !source_;
      if (!source_) open_file();
      block.file = file_;
      block.skipped_lines = skipped_lines_;
      const bool file_ended = fill_from_file(block);
      block.bytes_read = earlier_bytes_ + source_->bytes_read();
      if (file_ended) {
        earlier_bytes_ = block.bytes_read;
        source_.reset();
        ++file_;
      }
      if (block.text_bytes > 0) return true;
    }
    return false;
  }

 private:
  void open_file() {
    source_ = open_text_source(files_[file_]);
    carry_.clear();
    skipped_lines_ = 0;
    std::vector<char> text(growth_bytes);
    while (skipped_lines_ < skip_lines_) {
      const std::size_t got = source_->read(text);
      if (got == 0) return;
      const char* at = text.data();
      const char* end = at + got;
      while (at != end && skipped_lines_ < skip_lines_) {
        const void* newline = std::memchr(at, '\n', static_cast<std::size_t>(end - at));
        at = newline == nullptr ? end : static_cast<const char*>(newline) + 1;
        skipped_lines_ += newline != nullptr;
      }
      carry_.assign(at, end);
    }
  }

  // True at the end of the file.
  bool fill_from_file(Block& block) {
    std::vector<char>& text = block.text;
    std::size_t size = carry_.size();
    std::size_t goal = std::max(block_bytes_, size);
    text.resize(std::max(text.size(), goal));
    std::copy(carry_.begin(), carry_.end(), text.begin());
    carry_.clear();
    for (;;) {
      while (size < goal) {
        const std::size_t got = source_->read(std::span(text).subspan(size, goal - size));
        if (got == 0) {
          end_block(block, size);
          return true;
        }
        size += got;
      }
      const std::size_t cut = std::string_view(text.data(), size).rfind('\n') + 1;
      if (cut > 0 || size > max_tns_line_bytes) {  // a line that is too long is refused by the parser
        const std::size_t end = cut > 0 ? cut : size;
        carry_.assign(text.begin() + static_cast<std::ptrdiff_t>(end),
                      text.begin() + static_cast<std::ptrdiff_t>(size));
        end_block(block, end);
        return false;
      }
      goal = size + growth_bytes;
      text.resize(std::max(text.size(), goal));
    }
  }

  static void end_block(Block& block, std::size_t size) {
    block.text.resize(std::max(block.text.size(), size + 1 + tns_block_padding));
    if (size > 0 && block.text[size - 1] != '\n') block.text[size++] = '\n';
    block.text_bytes = size;
  }

  const std::vector<fs::path>& files_;
  std::uint64_t skip_lines_;
  std::size_t block_bytes_;
  std::size_t file_ = 0;
  std::unique_ptr<TextSource> source_;
  std::vector<char> carry_;  // what of the file follows the last block's cut
  std::uint64_t skipped_lines_ = 0;
  std::uint64_t earlier_bytes_ = 0;  // of the files before this one
};

class TnsReader final : public CoordinateReader {
 public:
  TnsReader(std::vector<fs::path> files, const TnsOptions& options, Executor& executor)
      : files_(std::move(files)), options_(options), executor_(executor), cutter_(files_, options) {
    const auto width = static_cast<std::size_t>(executor.width());
    parsed_.blocks.resize(width * blocks_per_thread);
    filled_.blocks.resize(width * blocks_per_thread);
  }

  bool next(CoordinateBatch& batch) override {
    if (!started_) fill_wave(filled_);
    started_ = true;
    for (;;) {
      while (delivered_ < parsed_.count) {
        const bool has_entries = deliver(parsed_.blocks[delivered_], batch);
        ++delivered_;
        if (has_entries) return true;
      }
      if (parsed_.failure) std::rethrow_exception(parsed_.failure);
      if (parsed_.is_last) return false;
      advance();
    }
  }

  std::string name() const override {
    std::string joined;
    for (const fs::path& file : files_) joined += (joined.empty() ? "" : ", ") + file.string();
    return joined;
  }

  std::uint64_t bytes_read() const override { return bytes_read_; }

  InputSize size() const override {
    InputSize size;
    for (const fs::path& file : files_) {
      std::error_code no_plain_file;
      const std::uintmax_t bytes = fs::file_size(file, no_plain_file);
      if (no_plain_file) return {};
      size.bytes += bytes;
    }
    return size;
  }

 private:
  // Keeps what is thrown, so that it is thrown in its turn: after the entries before it.
  void fill_wave(Wave& wave) {
    wave.count = 0;
    try {
      while (!wave.is_last && wave.count < wave.blocks.size()) {
        if (cutter_.fill(wave.blocks[wave.count])) {
          ++wave.count;
        } else {
          wave.is_last = true;
        }
      }
    } catch (...) {
      wave.failure = std::current_exception();
      wave.is_last = true;
    }
  }

  void parse(Block& block) const {
    try {
      block.result = parse_tns_block({block.text.data(), block.text_bytes}, order_, options_.index_base);
    } catch (...) {
      block.failure = std::current_exception();
    }
  }

  void advance() {
    std::swap(parsed_, filled_);
    delivered_ = 0;
    executor_.run(parsed_.count + 1, [this](std::size_t task) {
      if (task > 0) {
        parse(parsed_.blocks[task - 1]);
      } else if (!parsed_.is_last) {
        fill_wave(filled_);
      }
    });
  }

  // False where the block holds no entry.
  bool deliver(Block& block, CoordinateBatch& batch) {
    if (block.failure) std::rethrow_exception(block.failure);
    if (block.first_of_file) {
      lines_before_ = block.skipped_lines;
      file_has_entries_ = false;
    }
    const TnsBlock& result = block.result;
    // A block is parsed before it is known what order the blocks before it have.
    if (result.first && order_ != 0 && result.batch.order != order_) refuse(block, *result.first);
    if (result.failed) refuse_failed(block);
    bytes_read_ = block.bytes_read;
    if (result.first && order_ == 0) fix_order(block, *result.first, result.batch.order);
    lines_before_ += result.line_count;
    if (result.batch.count() == 0) return false;
    file_has_entries_ = true;
    batch = std::move(block.result.batch);
    return true;
  }

  void fix_order(const Block& block, const TnsLine& line, int order) {
    order_ = order;
    order_from_ = "line " + std::to_string(lines_before_ + line.number + 1) + " of " + files_[block.file].string();
  }

  [[noreturn]] void refuse_failed(const Block& block) {
    const TnsLine& failed = *block.result.failed;
    if (block.result.first && block.result.first->number < failed.number) {
      if (order_ == 0) fix_order(block, *block.result.first, block.result.batch.order);
      file_has_entries_ = true;
    }
    refuse(block, failed);
  }

  [[noreturn]] void refuse(const Block& block, const TnsLine& line) const {
    TnsPlace place;
    place.file = files_[block.file];
    place.line = lines_before_ + line.number + 1;
    place.first_of_file = !file_has_entries_;
    place.index_base = options_.index_base;
    place.order = order_;
    place.order_from = order_from_;
    throw Error(ErrorKind::invalid_argument, explain_tns_line(line.text, place));
  }

  std::vector<fs::path> files_;
  TnsOptions options_;
  Executor& executor_;
  BlockCutter cutter_;
  Wave parsed_;  // being parsed or delivered; its text is needed until then, for messages
  Wave filled_;  // being read
  bool started_ = false;
  std::size_t delivered_ = 0;
  int order_ = 0;
  std::string order_from_;
  std::uint64_t lines_before_ = 0;  // in the file, before the block to be delivered next
  bool file_has_entries_ = false;
  std::uint64_t bytes_read_ = 0;
};

void check_readable(const fs::path& file) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) throw_system_error("open", file);
  if (S_ISDIR(status.st_mode)) throw Error(ErrorKind::io, "cannot read " + file.string() + ": it is a folder");
  if (::faccessat(AT_FDCWD, file.c_str(), R_OK, AT_EACCESS) != 0) throw_system_error("open", file);
}

}  // namespace

std::unique_ptr<CoordinateReader> open_tns(std::vector<fs::path> inputs, const TnsOptions& options,
                                           Executor& executor) {
  if (inputs.empty()) throw Error(ErrorKind::invalid_argument, "no input file; name at least one");
  if (options.index_base != 0 && options.index_base != 1) {
    throw Error(ErrorKind::invalid_argument,
                "the index base is " + std::to_string(options.index_base) + "; it is 0 or 1");
  }
  if (options.block_bytes == 0) throw Error(ErrorKind::invalid_argument, "the block size is 0; use at least 1 byte");
  // All of them now, and not the last one after hours. Opening one twice would break a pipe.
  for (const fs::path& file : inputs) check_readable(file);
  return std::make_unique<TnsReader>(std::move(inputs), options, executor);
}

}  // namespace blco
