// Whole texts compressed and decompressed in one call, apart from the streams that are tested.
#pragma once

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace blco {

inline std::string gzip_text(std::string text) {
  std::string out(text.size() + text.size() / 8 + 1024, '\0');
  auto stream = std::make_unique<isal_zstream>();
  isal_deflate_stateless_init(stream.get());
  stream->gzip_flag = IGZIP_GZIP;
  stream->end_of_stream = 1;
  stream->next_in = reinterpret_cast<std::uint8_t*>(text.data());
  stream->avail_in = static_cast<std::uint32_t>(text.size());
  stream->next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream->avail_out = static_cast<std::uint32_t>(out.size());
  if (isal_deflate_stateless(stream.get()) != COMP_OK) throw std::runtime_error("gzip_text");
  out.resize(stream->total_out);
  return out;
}

inline std::string zstd_text(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 1);
  if (ZSTD_isError(size)) throw std::runtime_error("zstd_text");
  out.resize(size);
  return out;
}

inline std::string unzstd_text(const std::string& bytes, std::size_t text_bytes) {
  std::string out(text_bytes + 1, '\0');
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(size)) throw std::runtime_error("unzstd_text");
  out.resize(size);
  return out;
}

}  // namespace blco
