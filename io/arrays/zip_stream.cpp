// Reads stored and deflated members of zip files; ISA-L inflates.
//
// libzip and minizip inflate a member from its start to its end. Here a stream is copied midway, so that all rows of a
// matrix that is one member are read side by side, without a second pass over it and without an unpacked copy.
#include "io/arrays/zip_stream.hpp"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <string>

#include "blco/error.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t packed_buffer_bytes = std::size_t{64} << 10;
constexpr std::uint32_t crc_polynomial = 0xedb88320;  // CRC-32, its bits reversed
constexpr std::uint32_t crc_one = std::uint32_t{1} << 31;

// The product of two polynomials modulo that of the CRC.
std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = crc_one; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) product ^= b;
    b = (b & 1) != 0 ? b >> 1 ^ crc_polynomial : b >> 1;
  }
  return product;
}

}  // namespace

std::uint32_t combine_crc(std::uint32_t first, std::uint32_t second, std::uint64_t second_bytes) {
  std::uint32_t power = crc_one >> 8;  // x^8, then its squares
  std::uint32_t shift = crc_one;
  for (; second_bytes != 0; second_bytes >>= 1) {
    if ((second_bytes & 1) != 0) shift = multiply(shift, power);
    power = multiply(power, power);
  }
  return multiply(shift, first) ^ second;
}

struct ZipStream::Inflater {
  inflate_state state{};
  std::uint64_t taken = 0;  // stored bytes read into the buffer so far
  std::vector<std::byte> buffer = std::vector<std::byte>(packed_buffer_bytes);
  std::size_t begin = 0;
  std::size_t end = 0;
};

std::uint64_t ZipStream::memory_bytes(const ZipMember& member) {
  return member.method == 0 ? sizeof(ZipStream) : sizeof(ZipStream) + sizeof(Inflater) + packed_buffer_bytes;
}

ZipStream::ZipStream(int descriptor, const fs::path& path, const ZipMember& member)
    : descriptor_(descriptor), path_(path), member_(member) {
  if (member_.method == 0) return;
  inflater_ = std::make_unique<Inflater>();
  isal_inflate_init(&inflater_->state);
}

ZipStream::ZipStream(const ZipStream& other)
    : descriptor_(other.descriptor_), path_(other.path_), member_(other.member_), position_(other.position_) {
  if (other.inflater_) inflater_ = std::make_unique<Inflater>(*other.inflater_);
}

ZipStream::~ZipStream() = default;

void ZipStream::damaged(const char* what) const {
  throw Error(ErrorKind::corrupt, path_.string() + ": the array '" + member_.name + "' " + what + " near byte " +
                                      std::to_string(position_) + "; copy or make the file again");
}

void ZipStream::read(std::span<std::byte> out) {
  if (out.size() > member_.bytes - position_) damaged("ends too early");
  if (inflater_) {
    inflate(out);
  } else {
    read_at(descriptor_, path_, member_.data_offset + position_, out);
  }
  crc_ = crc32_gzip_refl(crc_, reinterpret_cast<const unsigned char*>(out.data()), out.size());
  position_ += out.size();
}

void ZipStream::skip(std::uint64_t bytes) {
  if (bytes > member_.bytes - position_) damaged("ends too early");
  if (inflater_) {
    std::vector<std::byte> passed(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, packed_buffer_bytes)));
    for (std::uint64_t left = bytes; left > 0;) {
      const auto part = std::span(passed).first(static_cast<std::size_t>(std::min<std::uint64_t>(left, passed.size())));
      inflate(part);
      left -= part.size();
    }
  }
  position_ += bytes;
}

void ZipStream::inflate(std::span<std::byte> out) {
  Inflater& in = *inflater_;
  while (!out.empty()) {
    if (in.begin == in.end && in.taken < member_.stored_bytes) {
      in.begin = 0;
      in.end = static_cast<std::size_t>(std::min<std::uint64_t>(in.buffer.size(), member_.stored_bytes - in.taken));
      read_at(descriptor_, path_, member_.data_offset + in.taken, std::span(in.buffer).first(in.end));
      in.taken += in.end;
    }
    const std::size_t room = std::min(out.size(), std::size_t{1} << 30);  // ISA-L's counters have 32 bits
    in.state.next_in = reinterpret_cast<std::uint8_t*>(in.buffer.data() + in.begin);
    in.state.avail_in = static_cast<std::uint32_t>(in.end - in.begin);
    in.state.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    in.state.avail_out = static_cast<std::uint32_t>(room);
    const bool at_end = in.taken == member_.stored_bytes;
    const int code = isal_inflate(&in.state);
    const std::size_t made = room - in.state.avail_out;
    const std::size_t used = in.end - in.begin - in.state.avail_in;
    in.begin = in.end - in.state.avail_in;
    if (code < 0) damaged("is damaged (it cannot be inflated)");
    if (made == 0 && (in.state.block_state == ISAL_BLOCK_FINISH || (at_end && used == 0))) damaged("ends too early");
    out = out.subspan(made);
  }
}

}  // namespace blco
