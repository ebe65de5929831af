// Reads a zip file's directory as APPNOTE 6.3 lays it out.
//
// No library serves, since readers go on from these places by themselves (zip_stream.cpp) and only the directory is
// wanted: libzip does not tell where a member's bytes lie, and minizip says of a damaged file no more than a number.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "blco/error.hpp"
#include "blco/refuse.hpp"
#include "io/arrays/zip_stream.hpp"
#include "io/file/file_descriptor.hpp"

namespace blco {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t local_signature = 0x04034b50;
constexpr std::uint32_t entry_signature = 0x02014b50;
constexpr std::uint32_t end_signature = 0x06054b50;
constexpr std::uint32_t locator_signature = 0x07064b50;
constexpr std::uint32_t end64_signature = 0x06064b50;
constexpr std::size_t local_bytes = 30;
constexpr std::size_t entry_bytes = 46;
constexpr std::size_t end_bytes = 22;
constexpr std::size_t locator_bytes = 20;
constexpr std::size_t end64_bytes = 56;
constexpr std::uint64_t max_comment_bytes = 65535;
constexpr std::uint64_t max_directory_bytes = std::uint64_t{64} << 20;
constexpr std::uint32_t in_zip64 = 0xffffffff;

template <class T>
T field(std::span<const std::byte> bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) {
    value = static_cast<T>(static_cast<std::uint64_t>(value) << 8 | std::to_integer<std::uint64_t>(bytes[at + i]));
  }
  return value;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};

class DirectoryReader {
 public:
  DirectoryReader(int descriptor, const fs::path& path, std::uint64_t file_bytes)
      : descriptor_(descriptor), path_(path), file_bytes_(file_bytes) {}

  std::vector<ZipMember> read() {
    const Directory directory = find();
    if (directory.bytes > max_directory_bytes) damaged("its directory is larger than 64 MiB");
    const std::vector<std::byte> bytes = read_bytes(directory.offset, directory.bytes, "its directory");
    std::vector<ZipMember> members;
    std::size_t at = 0;
    for (std::uint64_t i = 0; i < directory.count; ++i) members.push_back(read_entry(bytes, at));
    return members;
  }

 private:
  [[noreturn]] void damaged(const std::string& what) const {
    throw Error(ErrorKind::corrupt,
                path_.string() + ": the zip file is damaged or cut off: " + what + "; copy or make it again");
  }
  [[noreturn]] void refuse(const std::string& what) const { blco::refuse(path_.string() + ": " + what); }

  std::vector<std::byte> read_bytes(std::uint64_t offset, std::uint64_t bytes, const char* what) const {
    if (offset > file_bytes_ || bytes > file_bytes_ - offset) damaged(std::string(what) + " ends beyond the file");
    std::vector<std::byte> read(static_cast<std::size_t>(bytes));
    read_at(descriptor_, path_, offset, read);
    return read;
  }

  // The end record lies before a comment of unknown length.
  Directory find() const {
    const std::uint64_t tail_bytes = std::min<std::uint64_t>(file_bytes_, end_bytes + max_comment_bytes);
    const std::vector<std::byte> tail = read_bytes(file_bytes_ - tail_bytes, tail_bytes, "its end");
    for (std::size_t at = tail.size() >= end_bytes ? tail.size() - end_bytes + 1 : 0; at-- > 0;) {
      const auto record = std::span(tail).subspan(at);
      if (field<std::uint32_t>(record, 0) != end_signature) continue;
      if (field<std::uint16_t>(record, 20) != record.size() - end_bytes) continue;
      const Directory directory{field<std::uint32_t>(record, 16), field<std::uint32_t>(record, 12),
                                field<std::uint16_t>(record, 10)};
      if (const std::optional<Directory> large = find_zip64(file_bytes_ - tail_bytes + at)) return *large;
      if (field<std::uint16_t>(record, 4) != 0) refuse("the zip file is one part of several; save it as a single file");
      return directory;
    }
    damaged("it has no directory at its end");
  }

  std::optional<Directory> find_zip64(std::uint64_t end_offset) const {
    if (end_offset < locator_bytes) return std::nullopt;
    const auto locator = read_bytes(end_offset - locator_bytes, locator_bytes, "its end");
    if (field<std::uint32_t>(locator, 0) != locator_signature) return std::nullopt;
    const auto record = read_bytes(field<std::uint64_t>(locator, 8), end64_bytes, "its directory");
    if (field<std::uint32_t>(record, 0) != end64_signature) damaged("its directory is not where its end says");
    return Directory{field<std::uint64_t>(record, 48), field<std::uint64_t>(record, 40),
                     field<std::uint64_t>(record, 32)};
  }

  ZipMember read_entry(std::span<const std::byte> directory, std::size_t& at) const {
    const auto rest = directory.subspan(at);
    if (rest.size() < entry_bytes || field<std::uint32_t>(rest, 0) != entry_signature) {
      damaged("its directory has fewer members than it says");
    }
    const std::size_t name_bytes = field<std::uint16_t>(rest, 28);
    const std::size_t extra_bytes = field<std::uint16_t>(rest, 30);
    const std::size_t all_bytes = entry_bytes + name_bytes + extra_bytes + field<std::uint16_t>(rest, 32);
    if (rest.size() < all_bytes) damaged("a member's name ends beyond its directory");
    ZipMember member;
    member.name.resize(name_bytes);
    if (name_bytes > 0) std::memcpy(member.name.data(), rest.data() + entry_bytes, name_bytes);
    member.method = field<std::uint16_t>(rest, 10);
    member.crc = field<std::uint32_t>(rest, 16);
    member.stored_bytes = field<std::uint32_t>(rest, 20);
    member.bytes = field<std::uint32_t>(rest, 24);
    std::uint64_t header_offset = field<std::uint32_t>(rest, 42);
    read_extra(rest.subspan(entry_bytes + name_bytes, extra_bytes), member, header_offset);
    if ((field<std::uint16_t>(rest, 8) & 1) != 0)
      refuse("'" + member.name + "' is encrypted; save it without a password");
    if (member.method != 0 && member.method != 8) {
      refuse("'" + member.name + "' is compressed by method " + std::to_string(member.method) +
             " of zip, but only deflate is supported; save it with numpy.savez or numpy.savez_compressed");
    }
    locate(member, header_offset);
    at += all_bytes;
    return member;
  }

  // The zip64 field holds, in order, those of three numbers that did not fit the entry.
  void read_extra(std::span<const std::byte> extra, ZipMember& member, std::uint64_t& header_offset) const {
    constexpr std::uint16_t zip64_id = 1;
    while (extra.size() >= 4) {
      const std::size_t bytes = field<std::uint16_t>(extra, 2);
      if (bytes > extra.size() - 4) return;  // some writers pad the field
      if (field<std::uint16_t>(extra, 0) == zip64_id) {
        auto numbers = extra.subspan(4, bytes);
        for (std::uint64_t* number : {&member.bytes, &member.stored_bytes, &header_offset}) {
          if (*number != in_zip64) continue;
          if (numbers.size() < 8) damaged("the sizes of '" + member.name + "' are missing");
          *number = field<std::uint64_t>(numbers, 0);
          numbers = numbers.subspan(8);
        }
      }
      extra = extra.subspan(4 + bytes);
    }
  }

  // The local header repeats the name, and may have other extra fields than the directory has.
  void locate(ZipMember& member, std::uint64_t header_offset) const {
    const auto header = read_bytes(header_offset, local_bytes, "a member");
    if (field<std::uint32_t>(header, 0) != local_signature) damaged("'" + member.name + "' is not where it should be");
    member.data_offset =
        header_offset + local_bytes + field<std::uint16_t>(header, 26) + field<std::uint16_t>(header, 28);
    if (member.data_offset > file_bytes_ || member.stored_bytes > file_bytes_ - member.data_offset) {
      damaged("'" + member.name + "' ends beyond the file");
    }
    if (member.method == 0 && member.stored_bytes != member.bytes) {
      damaged("'" + member.name + "' is not compressed, but has two sizes");
    }
  }

  int descriptor_;
  const fs::path& path_;
  std::uint64_t file_bytes_;
};

}  // namespace

std::vector<ZipMember> read_zip_directory(int descriptor, const fs::path& path, std::uint64_t file_bytes) {
  return DirectoryReader(descriptor, path, file_bytes).read();
}

}  // namespace blco
