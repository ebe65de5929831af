// Writes FROSTT text through a buffer, plain or compressed, under a temporary name until complete.
#include "io/text/tns_writer.hpp"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "blco/error.hpp"
#include "io/file/output_file.hpp"
#include "io/file/temporary_file.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t output_buffer_bytes = std::size_t{256} << 10;
constexpr int gzip_level = 1;
constexpr int zstd_level = 3;

// Encodes text as bytes of the file; `last` ends the stream.
class Encoder {
 public:
  explicit Encoder(OutputFile& output) : output_(output) {}
  virtual ~Encoder() = default;
  virtual void encode(std::span<const char> text, bool last) = 0;

 protected:
  OutputFile& output_;
};

class PlainEncoder final : public Encoder {
 public:
  using Encoder::Encoder;
  void encode(std::span<const char> text, bool) override { output_.write(text); }
};

class GzipEncoder final : public Encoder {
 public:
  explicit GzipEncoder(OutputFile& output)
      : Encoder(output),
        stream_(std::make_unique<isal_zstream>()),
        level_(ISAL_DEF_LVL1_DEFAULT),
        out_(output_buffer_bytes) {
    isal_deflate_init(stream_.get());
    stream_->gzip_flag = IGZIP_GZIP;
    stream_->level = gzip_level;
    stream_->level_buf = level_.data();
    stream_->level_buf_size = static_cast<std::uint32_t>(level_.size());
  }

  void encode(std::span<const char> text, bool last) override {
    // The stream only reads from next_in, although its type is not const.
    stream_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
    stream_->avail_in = static_cast<std::uint32_t>(text.size());
    stream_->end_of_stream = last;
    do {
      stream_->next_out = reinterpret_cast<std::uint8_t*>(out_.data());
      stream_->avail_out = static_cast<std::uint32_t>(out_.size());
      if (isal_deflate(stream_.get()) != COMP_OK) output_.fail("gzip compression failed");
      output_.write(std::span(out_).first(out_.size() - stream_->avail_out));
    } while (stream_->avail_in > 0 || stream_->avail_out == 0 || (last && stream_->internal_state.state != ZSTATE_END));
  }

 private:
  std::unique_ptr<isal_zstream> stream_;
  std::vector<std::uint8_t> level_;
  std::vector<char> out_;
};

class ZstdEncoder final : public Encoder {
 public:
  explicit ZstdEncoder(OutputFile& output) : Encoder(output), context_(ZSTD_createCCtx()), out_(ZSTD_CStreamOutSize()) {
    if (!context_) throw Error(ErrorKind::out_of_memory, "no memory for zstd compression");
    check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, zstd_level));
    check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1));
  }

  void encode(std::span<const char> text, bool last) override {
    ZSTD_inBuffer from{text.data(), text.size(), 0};
    std::size_t left = 0;
    do {
      ZSTD_outBuffer to{out_.data(), out_.size(), 0};
      left = check(ZSTD_compressStream2(context_.get(), &to, &from, last ? ZSTD_e_end : ZSTD_e_continue));
      output_.write(std::span(out_).first(to.pos));
    } while (last ? left > 0 : from.pos < from.size);
  }

 private:
  struct FreeContext {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };

  std::size_t check(std::size_t code) const {
    if (ZSTD_isError(code)) output_.fail(std::string("zstd: ") + ZSTD_getErrorName(code));
    return code;
  }

  std::unique_ptr<ZSTD_CCtx, FreeContext> context_;
  std::vector<char> out_;
};

std::unique_ptr<Encoder> make_encoder(const fs::path& name, OutputFile& output) {
  if (name.extension() == ".gz") return std::make_unique<GzipEncoder>(output);
  if (name.extension() == ".zst") return std::make_unique<ZstdEncoder>(output);
  return std::make_unique<PlainEncoder>(output);
}

}  // namespace

struct TnsWriter::Impl {
  explicit Impl(const fs::path& target)
      : file(target), output(file.path(), target), encoder(make_encoder(target, output)) {
    pending.reserve(output_buffer_bytes);
  }

  TemporaryFile file;
  OutputFile output;
  std::unique_ptr<Encoder> encoder;
  std::vector<char> pending;
};

TnsWriter::TnsWriter(const fs::path& output) : impl_(std::make_unique<Impl>(output)) {}

TnsWriter::~TnsWriter() = default;

void TnsWriter::write(std::string_view text) {
  std::vector<char>& pending = impl_->pending;
  while (!text.empty()) {
    const std::size_t count = std::min(text.size(), output_buffer_bytes - pending.size());
    pending.insert(pending.end(), text.begin(), text.begin() + count);
    text.remove_prefix(count);
    if (pending.size() == output_buffer_bytes) {
      impl_->encoder->encode(pending, false);
      pending.clear();
    }
  }
}

void TnsWriter::finish() {
  impl_->encoder->encode(impl_->pending, true);
  impl_->pending.clear();
  impl_->output.close();
  impl_->file.publish();
}

}  // namespace blco
