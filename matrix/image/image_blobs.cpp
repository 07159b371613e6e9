#include "matrix/image/image_blobs.hpp"

#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>

#include "matrix/base/regular_file.hpp"
#include "matrix/base/write_fully.hpp"

namespace reprobench {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::size_t kMostBlobs = 10'000;

// All of a regular file.
class FileReader : public BlobReader {
 public:
  FileReader(const Image& image, const std::filesystem::path& path) : image_(image), file_(open_regular_file(path)) {
    if (!file_.problem.empty()) throw_image_error(image_, "RB027", path.string() + " " + file_.problem);
  }
  std::string_view read() override {
    const ssize_t count = ::read(file_.fd.get(), buffer_.data(), buffer_.size());
    if (count < 0) throw_image_error(image_, "RB027", fmt::format("cannot be read: {}", std::strerror(errno)));
    return {buffer_.data(), static_cast<std::size_t>(count)};
  }

 private:
  const Image& image_;
  RegularFile file_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
};

class FolderBlobs : public ImageBlobs {
 public:
  FolderBlobs(const Image& image, std::filesystem::path folder) : image_(image), folder_(std::move(folder)) {}
  bool has(const std::string& name) const override {
    return open_regular_file(folder_ / name, Links::refused).problem.empty();
  }
  std::unique_ptr<BlobReader> open(const std::string& name) override {
    if (!has(name)) return nullptr;
    return std::make_unique<FileReader>(image_, folder_ / name);
  }

 private:
  const Image& image_;
  std::filesystem::path folder_;
};

// The entries of one tar file, each with its name; what is neither file nor link is passed over.
class TarReader : public BlobReader {
 public:
  TarReader(const Image& image, const std::filesystem::path& tar, bool may_be_compressed)
      : image_(image), archive_(archive_read_new(), archive_read_free) {
    archive* reader = archive_.get();
    if (may_be_compressed) {  // no filter that would run a program
      archive_read_support_filter_gzip(reader);
      archive_read_support_filter_zstd(reader);
      archive_read_support_filter_xz(reader);
      archive_read_support_filter_bzip2(reader);
    }
    archive_read_support_format_tar(reader);
    archive_read_set_options(reader, "hdrcharset=BINARY");
    if (archive_read_open_filename(reader, tar.c_str(), kBufferBytes) != ARCHIVE_OK) fail();
  }

  // False behind the last.
  bool next() {
    for (;;) {
      const int status = archive_read_next_header(archive_.get(), &entry_);
      if (status == ARCHIVE_EOF) return false;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) fail();
      const auto type = archive_entry_filetype(entry_);
      if (type != AE_IFREG && type != AE_IFLNK) continue;
      const char* written = archive_entry_pathname(entry_);
      const auto path = image_path(written == nullptr ? ".." : written);
      if (!path) {
        throw_image_error(image_, "RB073",
                          fmt::format("entry \"{}\" leaves the archive", written == nullptr ? "" : written));
      }
      name_ = *path;
      return true;
    }
  }
  const std::string& name() const { return name_; }
  std::int64_t size_bytes() const { return archive_entry_size(entry_); }
  // Name of the blob that a link stands for, a layer that several images of the archive share; empty: it is a file.
  std::string link() const {
    if (archive_entry_filetype(entry_) != AE_IFLNK) return "";
    const char* target = archive_entry_symlink(entry_);
    return path_of_link(target == nullptr ? "" : target, folder_of_path(name_));
  }
  bool is_compressed() const { return archive_filter_code(archive_.get(), 0) != ARCHIVE_FILTER_NONE; }

  std::string_view read() override {
    const la_ssize_t count = archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
    if (count < 0) fail();
    return {buffer_.data(), static_cast<std::size_t>(count)};
  }

 private:
  [[noreturn]] void fail() const {
    const char* text = archive_error_string(archive_.get());
    throw_image_error(image_, "RB075",
                      fmt::format("it cannot be read as an image: {}", text == nullptr ? "no tar" : text));
  }

  const Image& image_;
  std::unique_ptr<archive, decltype(&archive_read_free)> archive_;
  archive_entry* entry_ = nullptr;
  std::string name_;
  std::vector<char> buffer_ = std::vector<char>(kBufferBytes);
};

class TarBlobs : public ImageBlobs {
 public:
  TarBlobs(const Image& image, std::filesystem::path tar) : image_(image), tar_(std::move(tar)) {
    TarReader reader(image_, tar_, false);
    while (reader.next()) {
      if (links_.size() >= kMostBlobs) throw_image_error(image_, "RB077", "it has too many blobs for an image");
      if (links_.emplace(reader.name(), reader.link()).second) continue;
      throw_image_error(image_, "RB074", fmt::format("two entries are named \"{}\"", reader.name()));
    }
  }

  bool has(const std::string& name) const override { return !behind_links(name).empty(); }

  std::unique_ptr<BlobReader> open(const std::string& name) override {
    const std::string wanted = behind_links(name);
    auto reader = std::make_unique<TarReader>(image_, tar_, false);
    while (!wanted.empty() && reader->next()) {
      if (reader->name() == wanted) return reader;
    }
    return nullptr;
  }

 private:
  std::string behind_links(const std::string& name) const {
    auto found = links_.find(name);
    for (int links = 0; found != links_.end() && !found->second.empty(); ++links) {
      if (links == 8) return "";
      found = links_.find(found->second);
    }
    return found == links_.end() ? "" : found->first;
  }

  const Image& image_;
  std::filesystem::path tar_;
  std::map<std::string, std::string> links_;  // a file has an empty one
};

bool is_compressed(const Image& image, const std::filesystem::path& tar) {
  TarReader reader(image, tar, true);
  return reader.next() && reader.is_compressed();
}

// The blobs of a compressed archive as the files of a folder: they are read in another order than they lie in.
void unpack_blobs(const Image& image, const std::filesystem::path& tar, const std::filesystem::path& folder,
                  const ImageLimits& limits) {
  TarReader reader(image, tar, true);
  std::int64_t left_bytes = limits.most_kept_bytes;
  for (std::size_t blobs = 0; reader.next(); ++blobs) {
    if (blobs >= kMostBlobs) throw_image_error(image, "RB077", "it has too many blobs for an image");
    if (!reader.link().empty()) continue;
    const std::filesystem::path path = folder / reader.name();
    std::filesystem::create_directories(path.parent_path());
    const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open()) throw_image_error(image, "RB074", fmt::format("two entries are named \"{}\"", reader.name()));
    for (std::string_view piece = reader.read(); !piece.empty(); piece = reader.read()) {
      struct statvfs disk {};
      left_bytes -= static_cast<std::int64_t>(piece.size());
      const bool has_room = statvfs(folder.c_str(), &disk) == 0 &&
                            static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize) > limits.free_bytes;
      if (left_bytes < 0 || !has_room) throw_image_error(image, "RB077", "no room to unpack it in " + folder.string());
      if (const int error = write_fully(file.get(), piece)) {
        throw std::filesystem::filesystem_error("cannot be written", path, {error, std::generic_category()});
      }
    }
  }
}

}  // namespace

std::unique_ptr<ImageBlobs> open_image_blobs(const Image& image, const std::filesystem::path& path,
                                             const std::filesystem::path& staging, const ImageLimits& limits) {
  if (std::filesystem::is_directory(path)) return std::make_unique<FolderBlobs>(image, path);
  if (const RegularFile file = open_regular_file(path); !file.problem.empty()) {
    throw_image_error(image, "RB027", file.problem);
  }
  if (!is_compressed(image, path)) return std::make_unique<TarBlobs>(image, path);
  const std::filesystem::path folder = staging / "blobs";
  std::filesystem::create_directories(folder);
  unpack_blobs(image, path, folder, limits);
  return std::make_unique<FolderBlobs>(image, folder);
}

}  // namespace reprobench
