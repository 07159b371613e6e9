// Where a rank is in the sequence of collectives, for the others to read: when one does not end, that tells who is
// missing. The file is mapped, so entering and leaving cost two stores and no system call, and what a killed or stopped
// process wrote last stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace reprobench {

struct Position {
  std::int64_t entered = 0;  // calls, from 1
  std::int64_t left = 0;
  std::int64_t bytes = 0;  // of the call entered last
  std::string name = {};   // of that call

  std::string text() const;  // "call 37, all_reduce of 4096 bytes"
};

class PositionFile {
 public:
  // Throws std::system_error if it cannot be made.
  explicit PositionFile(const std::filesystem::path& path);
  ~PositionFile();
  PositionFile(const PositionFile&) = delete;
  PositionFile& operator=(const PositionFile&) = delete;

  void enter(std::string_view name, std::int64_t bytes);
  void leave();
  Position now() const;

 private:
  struct Words;
  Words* words_;
};

// Nothing if there is no such file, or none of this kind.
std::optional<Position> read_position(const std::filesystem::path& path);

}  // namespace reprobench
