// A log file of a library, read piece by piece as it grows.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace reprobench {

class LibraryLog {
 public:
  // An empty path means that there is no log. The file may appear later.
  explicit LibraryLog(std::filesystem::path path) : path_(std::move(path)) {}

  // The complete lines that were not taken before.
  std::string take() {
    if (path_.empty()) return {};
    std::ifstream file(path_, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(taken_bytes_));
    std::string text{std::istreambuf_iterator<char>(file), {}};
    text.erase(text.rfind('\n') + 1);  // without a line whose end is not there yet
    taken_bytes_ += text.size();
    return text;
  }

 private:
  std::filesystem::path path_;
  std::size_t taken_bytes_ = 0;
};

}  // namespace reprobench
