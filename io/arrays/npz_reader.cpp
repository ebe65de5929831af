// Opens the arrays of a NumPy archive as parts of a coordinate list, each with its own stream.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "blco/error.hpp"
#include "blco/refuse.hpp"
#include "io/arrays/coo_layout.hpp"
#include "io/arrays/coo_reader.hpp"
#include "io/arrays/npy_header.hpp"
#include "io/arrays/zip_stream.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

NumberType parse_descr(const std::string& descr) {
  const auto refuse = [&](const std::string& why) -> NumberType {
    blco::refuse("its type is '" + descr + "', " + why);
  };
  if (descr.starts_with("|O") || descr == "O") {
    return refuse(
        "pickled Python objects; save plain numbers, with .astype('f8') for values or .astype('i8') for coordinates");
  }
  const std::string others =
      "but only integers, f4, f8 and bool are supported; convert it with .astype('f8') or .astype('i8')";
  if (descr.size() != 3 || std::string_view("<>|=").find(descr[0]) == std::string_view::npos) return refuse(others);
  const auto bytes = static_cast<std::uint8_t>(descr[2] - '0');
  const bool is_power = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  const bool is_big_endian = descr[0] == '>';
  if (descr[1] == 'i' && is_power) return {NumberKind::signed_integer, bytes, is_big_endian};
  if (descr[1] == 'u' && is_power) return {NumberKind::unsigned_integer, bytes, is_big_endian};
  if (descr[1] == 'f' && (bytes == 4 || bytes == 8)) return {NumberKind::real, bytes, is_big_endian};
  if (descr[1] == 'b' && bytes == 1) return {NumberKind::boolean, bytes, false};
  return refuse(others);
}

// An array of the archive, and the stream that has read its header.
struct NpyArray {
  const ZipMember* member;
  NpyHeader header;
  NumberType type;
  std::unique_ptr<ZipStream> stream;
};

class NpzArchive final : public NamedArrays {
 public:
  explicit NpzArchive(const fs::path& path) : path_(path), file_(open_readable(path, file_bytes_)) {
    members_ = read_zip_directory(file_.get(), path_, file_bytes_);
    for (const ZipMember& member : members_) {
      constexpr std::string_view suffix = ".npy";
      if (!member.name.ends_with(suffix)) continue;
      by_name_.emplace(member.name.substr(0, member.name.size() - suffix.size()), &member);
    }
  }

  std::string place() const override { return path_.string(); }
  bool has(const std::string& name) const override { return by_name_.contains(name); }

  Description describe(const std::string& name) override {
    NpyArray array = open(name);
    // The logical shape: Fortran order only changes how the entries lie in the file.
    return {array.header.shape, array.type};
  }

  std::vector<std::byte> read_small(const std::string& name) override {
    const NpyArray array = open(name);
    const std::uint64_t bytes = array.member->bytes - array.stream->position();
    if (bytes > max_small_numbers * sizeof(std::uint64_t)) fail(name, "it is too large");
    std::vector<std::byte> numbers(static_cast<std::size_t>(bytes));
    array.stream->read(numbers);
    if (array.stream->crc() != array.member->crc) throw damaged(name);
    return numbers;
  }

  NpyArray open(const std::string& name) const {
    const ZipMember& member = *by_name_.at(name);
    NpyArray array{&member, {}, {}, std::make_unique<ZipStream>(file_.get(), path_, member)};
    try {
      read_header(array);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::invalid_argument) fail(name, error.what());
      throw;
    }
    std::uint64_t bytes = array.type.bytes;
    for (const std::uint64_t extent : array.header.shape) {
      if (extent != 0 && bytes > member.bytes / extent) fail_size(name);
      bytes *= extent;
    }
    if (bytes != member.bytes - array.stream->position()) fail_size(name);
    return array;
  }

  [[nodiscard]] Error damaged(const std::string& name) const {
    return {ErrorKind::corrupt, path_.string() + ": the array '" + name +
                                    "' is damaged (its checksum does not match); copy or make the file again"};
  }

  std::uint64_t file_bytes() const { return file_bytes_; }

 private:
  [[noreturn]] void fail(const std::string& name, const std::string& what) const {
    refuse(path_.string() + ": the array '" + name + "' is not acceptable: " + what);
  }
  [[noreturn]] void fail_size(const std::string& name) const {
    throw Error(ErrorKind::corrupt,
                path_.string() + ": the array '" + name +
                    "' does not have the size that its header declares; copy or make the file again");
  }

  static void read_header(NpyArray& array) {
    std::string text(npy_prefix_bytes, '\0');
    if (array.member->bytes < text.size()) refuse("it is not an array of numpy.save");
    array.stream->read(std::as_writable_bytes(std::span(text)));
    const std::size_t offset = npy_data_offset(text);
    // In version 1, the prefix includes two bytes of the dictionary.
    const std::size_t dictionary = text[6] == 1 ? 10 : 12;
    if (offset < text.size()) refuse("its header is not one of numpy.save");
    text.resize(offset);
    array.stream->read(std::as_writable_bytes(std::span(text)).subspan(npy_prefix_bytes));
    array.header = parse_npy_header(std::string_view(text).substr(dictionary));
    array.type = parse_descr(array.header.descr);
  }

  fs::path path_;
  std::uint64_t file_bytes_ = 0;
  FileDescriptor file_;
  std::vector<ZipMember> members_;
  std::map<std::string, const ZipMember*> by_name_;
};

class NpzSource final : public CooSource {
 public:
  NpzSource(const fs::path& path, std::size_t order) : CooSource(path), archive_(path) {
    CooLayout layout = find_coo_layout(archive_, order);
    shape_ = std::move(layout.shape);
    entry_count_ = layout.entry_count;
    for (CooPart& part : layout.parts) add(std::move(part));
  }

  std::uint64_t file_bytes() const override { return archive_.file_bytes(); }
  std::string format() const override { return "a NumPy archive"; }

  void read_part(std::size_t part, std::size_t, std::span<std::byte> out) override { streams_[part].stream->read(out); }

  // The streams of a member are in its order; the first has read its header.
  void finish() override {
    for (std::size_t p = 0; p < streams_.size();) {
      const ZipMember* const member = streams_[p].member;
      const std::size_t first = p;
      std::uint32_t crc = 0;
      for (; p < streams_.size() && streams_[p].member == member; ++p) {
        const ZipStream& stream = *streams_[p].stream;
        crc = combine_crc(crc, stream.crc(), stream.position() - streams_[p].begin);
      }
      if (crc != member->crc) throw archive_.damaged(parts_[first].array);
    }
  }

  std::uint64_t memory_bytes() const override {
    std::uint64_t bytes = 0;
    for (const Stream& stream : streams_) bytes += ZipStream::memory_bytes(*stream.member);
    return bytes;
  }

 private:
  struct Stream {
    const ZipMember* member;
    std::unique_ptr<ZipStream> stream;
    std::uint64_t begin;  // where its checksum begins
  };

  void add(CooPart part) {
    NpyArray array = archive_.open(part.array);
    // In Fortran order, neighbours lie along the other extent.
    const bool is_matrix = part.modes > 1;
    if (is_matrix && array.header.is_fortran_order) part.is_entry_major = !part.is_entry_major;
    if (!is_matrix || part.is_entry_major) {
      parts_.push_back(std::move(part));
      streams_.push_back({array.member, std::move(array.stream), 0});
      return;
    }
    const std::uint64_t row_bytes = entry_count_ * part.type.bytes;
    const auto row = std::make_unique<ZipStream>(*array.stream);  // advances to the start of each
    for (std::size_t n = 0; n < part.modes; ++n) {
      CooPart one = part;
      one.first_mode = n;
      one.modes = 1;
      parts_.push_back(std::move(one));
      const bool first = n == 0;
      if (!first) row->skip(row_bytes);
      streams_.push_back({array.member, first ? std::move(array.stream) : std::make_unique<ZipStream>(*row),
                          first ? 0 : row->position()});
    }
  }

  NpzArchive archive_;
  std::vector<Stream> streams_;  // one per part
};

}  // namespace

std::unique_ptr<CooSource> open_npz(const fs::path& path, std::size_t order) {
  return std::make_unique<NpzSource>(path, order);
}

}  // namespace blco
