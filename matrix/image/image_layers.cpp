#include "matrix/image/image_layers.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/base/plain_text.hpp"
#include "matrix/base/sha256.hpp"
#include "matrix/base/write_fully.hpp"
#include "matrix/spec/diagnostics.hpp"

namespace reprobench {

void throw_image_error(const Image& image, const char* code, const std::string& what) {
  throw_spec_error({image.name, 0, 0}, code, plain_line(what));
}

namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::size_t kLongestPath = 4096;

using ArchivePointer = std::unique_ptr<archive, decltype(&archive_read_free)>;

std::string error_text(archive* reader) {
  const char* text = archive_error_string(reader);
  return text == nullptr ? "it is damaged" : text;
}

// Hands on what it reads and hashes it.
class HashedReader : public BlobReader {
 public:
  explicit HashedReader(BlobReader& from) : from_(from) {}
  std::string_view read() override {
    const std::string_view bytes = from_.read();
    sha_.update(bytes);
    return bytes;
  }
  // The digest of all bytes, even of those that nobody asked for.
  std::string digest() {
    while (!read().empty()) {
    }
    return "sha256:" + to_hex(sha_.finish());
  }

 private:
  BlobReader& from_;
  Sha256 sha_;
};

la_ssize_t read_blob(archive*, void* reader, const void** bytes) {
  const std::string_view piece = static_cast<BlobReader*>(reader)->read();
  *bytes = piece.data();
  return static_cast<la_ssize_t>(piece.size());
}

// The unpacked bytes of a compressed blob. No filter that would run a program is offered.
class UnpackedReader : public BlobReader {
 public:
  UnpackedReader(const Image& image, BlobReader& from)
      : image_(image), archive_(archive_read_new(), archive_read_free) {
    archive* raw = archive_.get();
    archive_read_support_filter_gzip(raw);
    archive_read_support_filter_zstd(raw);
    archive_read_support_filter_xz(raw);
    archive_read_support_filter_bzip2(raw);
    archive_read_support_format_raw(raw);
    archive_entry* entry = nullptr;
    if (archive_read_open(raw, &from, nullptr, read_blob, nullptr) != ARCHIVE_OK ||
        archive_read_next_header(raw, &entry) != ARCHIVE_OK) {
      throw_image_error(image_, "RB075", "a layer cannot be unpacked: " + error_text(raw));
    }
  }
  std::string_view read() override {
    const la_ssize_t count = archive_read_data(archive_.get(), buffer_.data(), buffer_.size());
    if (count < 0) throw_image_error(image_, "RB075", "a layer is damaged: " + error_text(archive_.get()));
    return {buffer_.data(), static_cast<std::size_t>(count)};
  }

 private:
  const Image& image_;
  ArchivePointer archive_;
  std::vector<char> buffer_ = std::vector<char>(kPieceBytes);
};

}  // namespace

// One layer's tar, entry by entry.
class LayerReader {
 public:
  LayerReader(LayerApplier& to, BlobReader& tar, ImageLayer& layer)
      : to_(to),
        layer_(layer),
        number_(static_cast<int>(to.image_.layers.size())),
        archive_(archive_read_new(), archive_read_free) {
    archive* reader = archive_.get();
    archive_read_support_format_tar(reader);
    archive_read_support_format_empty(reader);
    archive_read_set_options(reader, "hdrcharset=BINARY");
    if (archive_read_open(reader, &tar, nullptr, read_blob, nullptr) != ARCHIVE_OK) {
      fail("RB075", "it is no tar: " + error_text(reader));
    }
  }

  void read_all() {
    archive_entry* entry = nullptr;
    for (;;) {
      const int status = archive_read_next_header(archive_.get(), &entry);
      if (status == ARCHIVE_EOF) return;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN) fail("RB075", error_text(archive_.get()));
      if (++to_.entries_ > to_.limits_.most_entries) {
        fail("RB077", fmt::format("it has more than {} entries", to_.limits_.most_entries));
      }
      ++layer_.entries;
      take(entry);
    }
  }

 private:
  [[noreturn]] void fail(const char* code, const std::string& what) const {
    throw_image_error(to_.image_, code, fmt::format("layer {}: {}", number_ + 1, what));
  }

  void take(archive_entry* entry) {
    const char* written = archive_entry_pathname(entry);
    if (written == nullptr || std::strlen(written) > kLongestPath) fail("RB073", "an entry has no readable name");
    const auto path = image_path(written);
    if (!path) fail("RB073", fmt::format("entry \"{}\" leaves the image", written));
    const std::string_view name = name_of_path(*path);
    if (name == kOpaque) {
      to_.image_.tree.remove_older(folder_of_path(*path), number_, true);
    } else if (name.starts_with(kWhiteout)) {
      remove(*path, name.substr(kWhiteout.size()));
    } else if (const char* target = archive_entry_hardlink(entry)) {
      link_hard(*path, target);
    } else {
      put(*path, entry);
    }
  }

  void remove(const std::string& path, std::string_view name) {
    if (name.empty() || name == "." || name == "..") fail("RB073", fmt::format("entry \"{}\" removes nothing", path));
    const std::string_view folder = folder_of_path(path);
    const std::string removed = folder.empty() ? std::string(name) : fmt::format("{}/{}", folder, name);
    bury(removed);
    to_.image_.tree.remove_older(removed, number_, false);
  }

  // A file that is replaced or removed stays in the image for everybody who unpacks its layers.
  void bury(const std::string& path) {
    const ImageEntry* old = to_.image_.tree.find(path);
    if (old == nullptr || old->content.empty() || old->layer >= number_) return;
    to_.image_.buried.push_back({path, *old});
  }

  void link_hard(const std::string& path, const char* written) {
    const auto target = image_path(written);
    if (!target) fail("RB073", fmt::format("entry \"{}\" is a link that leaves the image", path));
    const ImageEntry* entry = to_.image_.tree.find_unfollowed(*target);
    if (entry == nullptr) fail("RB074", fmt::format("entry \"{}\" links to {}, which is not there", path, *target));
    if (entry->kind == EntryKind::folder) fail("RB074", fmt::format("entry \"{}\" links to a folder", path));
    ImageEntry copy = *entry;
    copy.layer = number_;
    put(path, std::move(copy));
  }

  void put(const std::string& path, ImageEntry entry) {
    bury(path);
    const std::string problem = to_.image_.tree.put(path, std::move(entry));
    if (!problem.empty()) fail("RB074", fmt::format("entry \"{}\": {}", path, problem));
  }

  void put(const std::string& path, archive_entry* header) {
    ImageEntry entry;
    entry.mode = archive_entry_perm(header);
    entry.owner = archive_entry_uid(header);
    entry.layer = number_;
    switch (archive_entry_filetype(header)) {
      case AE_IFDIR:
        entry.kind = EntryKind::folder;
        break;
      case AE_IFLNK:
        entry.kind = EntryKind::link;
        if (const char* target = archive_entry_symlink(header)) entry.link = target;
        break;
      case AE_IFREG:
        take_file(path, header, entry);
        break;
      default:
        entry.kind = EntryKind::other;
        break;
    }
    put(path, std::move(entry));
  }

  void take_file(const std::string& path, archive_entry* header, ImageEntry& entry) {
    entry.size_bytes = archive_entry_size(header);
    if (entry.size_bytes < 0) fail("RB075", fmt::format("entry \"{}\" has a size below 0", path));
    // Both are below 2^63, their sum need not be.
    if (entry.size_bytes > to_.limits_.most_unpacked_bytes - to_.unpacked_bytes_) {
      fail("RB077", fmt::format("it unpacks to more than {} bytes", to_.limits_.most_unpacked_bytes));
    }
    to_.unpacked_bytes_ += entry.size_bytes;
    layer_.unpacked_bytes += entry.size_bytes;
    if (to_.wanted_(path, entry.size_bytes)) entry.content = keep(path, entry.size_bytes);
  }

  std::string keep(const std::string& path, std::int64_t size_bytes) {
    struct statvfs disk {};
    const bool has_room =
        statvfs(to_.staging_.c_str(), &disk) == 0 &&
        size_bytes < static_cast<std::int64_t>(disk.f_bavail * disk.f_frsize) - to_.limits_.free_bytes;
    if (to_.kept_bytes_ > to_.limits_.most_kept_bytes - size_bytes || !has_room) {
      fail("RB077", fmt::format("no room for the {} bytes of {} in {}", size_bytes, path, to_.staging_.string()));
    }
    to_.kept_bytes_ += size_bytes;
    const std::filesystem::path kept = to_.staging_ / std::to_string(to_.kept_files_++);
    const FileDescriptor file(open(kept.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file.is_open() || ftruncate(file.get(), size_bytes) != 0) write_failed(kept, errno);
    const void* bytes = nullptr;
    std::size_t count = 0;
    la_int64_t offset = 0;
    for (;;) {  // block by block, so that the holes of a sparse file stay holes
      const int status = archive_read_data_block(archive_.get(), &bytes, &count, &offset);
      if (status == ARCHIVE_EOF) break;
      if (status != ARCHIVE_OK || offset < 0 || offset > size_bytes - static_cast<la_int64_t>(count)) {
        fail("RB075", fmt::format("entry \"{}\" is damaged: {}", path, error_text(archive_.get())));
      }
      if (lseek(file.get(), offset, SEEK_SET) != offset) write_failed(kept, errno);
      if (const int error = write_fully(file.get(), {static_cast<const char*>(bytes), count}))
        write_failed(kept, error);
    }
    return kept.string();
  }

  [[noreturn]] void write_failed(const std::filesystem::path& kept, int error) const {
    throw std::filesystem::filesystem_error("cannot be written", kept, std::error_code(error, std::generic_category()));
  }

  LayerApplier& to_;
  ImageLayer& layer_;
  int number_;
  ArchivePointer archive_;
};

LayerApplier::LayerApplier(Image& image, const std::filesystem::path& staging, const WantedContent& wanted,
                           const ImageLimits& limits)
    : image_(image), staging_(staging), wanted_(wanted), limits_(limits) {}

void LayerApplier::apply(BlobReader& blob, const std::string& digest, const std::string& diff_id) {
  if (image_.layers.size() >= static_cast<std::size_t>(limits_.most_layers)) {
    throw_image_error(image_, "RB077", fmt::format("it has more than {} layers", limits_.most_layers));
  }
  ImageLayer layer;
  HashedReader packed(blob);
  UnpackedReader unpacked(image_, packed);
  HashedReader tar(unpacked);
  LayerReader(*this, tar, layer).read_all();
  const std::string of_tar = tar.digest();
  const std::string of_blob = packed.digest();
  const auto hold = [&](const std::string& said, const std::string& is, const char* what) {
    if (said.empty() || said == is) return;
    throw_image_error(image_, "RB076",
                      fmt::format("layer {}: {} is {}, the image says {}", image_.layers.size() + 1, what, is, said));
  };
  hold(digest, of_blob, "its digest");
  hold(diff_id, of_tar, "the digest of its tar");
  layer.digest = digest.empty() ? of_tar : digest;
  image_.layers.push_back(std::move(layer));
}

}  // namespace reprobench
