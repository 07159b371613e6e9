#include "matrix/spec/files/tensor_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include <fcntl.h>
#include <sys/stat.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/spec/diagnostics.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// One safetensors file from front to back; what is checked is what is hashed.
class Reading {
 public:
  explicit Reading(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    struct stat status {};
    if (!fd_.is_open() || fstat(fd_.get(), &status) != 0) refuse(std::strerror(errno));
    if (!S_ISREG(status.st_mode)) refuse("it is not a regular file");
    left_bytes_ = static_cast<std::uint64_t>(status.st_size);
  }

  TensorFile all() {
    const std::uint64_t file_bytes = left_bytes_;
    TensorFile file{std::filesystem::absolute(path_).string(), {}, {}};
    try {
      std::string head = next(8);
      head += next(safetensors_head_bytes(path_, std::as_bytes(std::span(head)), file_bytes) - head.size());
      file.tensors = parse_safetensors(path_, std::as_bytes(std::span(head)), file_bytes).tensors;
    } catch (const ContractError& error) {
      const std::string_view what = error.what();
      throw_spec_error(
          {path_, 0, 0}, "RB041",
          "no whole safetensors file: " + std::string(what.substr(std::min(what.size(), path_.size() + 2))),
          "fetch it again, or write it with the `safetensors` package");
    }
    while (left_bytes_ > 0) next(kPieceBytes);
    file.sha256 = to_hex(sha_.finish());
    return file;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw_spec_error({path_, 0, 0}, "RB027", "cannot be read: " + why);
  }

  // So many bytes, or all that are left.
  std::string next(std::uint64_t count) {
    std::string bytes(std::min(count, left_bytes_), '\0');
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t got = ::read(fd_.get(), bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) refuse(std::strerror(errno));
      if (got == 0) refuse("it becomes shorter while it is read");
      done += static_cast<std::size_t>(got);
    }
    left_bytes_ -= bytes.size();
    sha_.update(bytes);
    return bytes;
  }

  std::string path_;
  FileDescriptor fd_;
  std::uint64_t left_bytes_ = 0;
  Sha256 sha_;
};

}  // namespace

TensorFile read_tensor_file(const std::string& path) { return Reading(path).all(); }

}  // namespace reprobench
