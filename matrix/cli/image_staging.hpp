// A new folder for the bytes of an image while it is read. It is removed with its owner.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace reprobench {

class ImageStaging {
 public:
  // Makes the folder below `folder`, which is made too. Throws std::filesystem::filesystem_error.
  explicit ImageStaging(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    std::string name = (folder / "inspect.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw std::filesystem::filesystem_error("cannot be created", name, {errno, std::generic_category()});
    }
    path_ = name;
  }
  ~ImageStaging() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ImageStaging(const ImageStaging&) = delete;
  ImageStaging& operator=(const ImageStaging&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace reprobench
