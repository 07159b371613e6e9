#include "matrix/spec/files/package_file.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/spec/diagnostics.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// APPNOTE.TXT of the zip format, 4.3.7 and 4.3.16: how an archive begins, and the record that it ends in, which is 22
// bytes and a comment of at most 65,535. The record says how long the comment is, and where the list of the archive's
// files lies, which is before it.
constexpr std::string_view kFirstFile = "PK\x03\x04";
constexpr std::string_view kEndRecord = "PK\x05\x06";
constexpr std::size_t kEndRecordBytes = 22;
constexpr std::size_t kMostTailBytes = kEndRecordBytes + 0xffff;
constexpr std::uint64_t kIn64BitRecord = 0xffffffff;  // the archive is larger, and another record has the place

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte) value = value << 8 | static_cast<unsigned char>(*byte);
  return value;
}

bool ends_as_archive(std::string_view tail, std::uint64_t file_bytes) {
  if (tail.size() < kEndRecordBytes) return false;
  for (std::size_t at = tail.rfind(kEndRecord); at != std::string_view::npos; at = tail.rfind(kEndRecord, at - 1)) {
    const std::string_view record = tail.substr(at);
    if (record.size() >= kEndRecordBytes && record.size() == kEndRecordBytes + little_endian(record.substr(20, 2))) {
      const std::uint64_t list_begin = little_endian(record.substr(16, 4));
      const std::uint64_t list_bytes = little_endian(record.substr(12, 4));
      return list_begin == kIn64BitRecord || list_begin + list_bytes <= file_bytes - record.size();
    }
    if (at == 0) break;
  }
  return false;
}

}  // namespace

PackageFile read_package_file(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw_spec_error({path, 0, 0}, "RB027", "cannot be read: " + why);
  };
  // Opening a pipe would wait for somebody to write into it.
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd.is_open() || fstat(fd.get(), &status) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) refuse("it is not a regular file");
  Sha256 sha;
  std::string head;
  std::string tail;
  std::uint64_t file_bytes = 0;
  std::string piece(kReadBytes, '\0');
  for (;;) {
    const ssize_t count = ::read(fd.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(std::strerror(errno));
    if (count == 0) break;
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(count));
    sha.update(bytes);
    file_bytes += bytes.size();
    if (head.size() < kFirstFile.size()) head += bytes.substr(0, kFirstFile.size() - head.size());
    tail += bytes;
    if (tail.size() > kMostTailBytes) tail.erase(0, tail.size() - kMostTailBytes);
  }
  const char* again = "make it again with `torch._inductor.aoti_compile_and_package`";
  if (head != kFirstFile) throw_spec_error({path, 0, 0}, "RB045", "no AOTInductor package: no zip archive", again);
  if (!ends_as_archive(tail, file_bytes)) {
    throw_spec_error({path, 0, 0}, "RB045",
                     fmt::format("no whole AOTInductor package: the zip archive has no end after {} bytes", file_bytes),
                     again);
  }
  return {std::filesystem::absolute(path).string(), to_hex(sha.finish())};
}

}  // namespace reprobench
