// Where a rank is in the sequence of collectives, for the others to read: when one does not end, that tells who is
// missing, and when ranks call different ones, who is alone with it. The file is mapped, so entering and leaving cost a
// few stores and no system call, and what a killed or stopped process wrote last stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

// What ranks must call alike.
struct CollectiveCall {
  std::string name = {};
  std::int64_t bytes = 0;
  std::string detail = {};  // of its tensors the type, "fp32"; of a meeting the place

  bool operator==(const CollectiveCall&) const = default;
  std::string text() const;  // "all_reduce of 4096 bytes (fp32)"
};

struct Position {
  std::int64_t entered = 0;  // calls, from 1
  std::int64_t left = 0;
  std::vector<CollectiveCall> recent = {};  // the last ones, that of `entered` last

  const CollectiveCall* call(std::int64_t number) const;  // null if it was not entered, or is long past
  std::string text() const;                               // "call 37, all_reduce of 4096 bytes (fp32)"
};

class PositionFile {
 public:
  // Throws std::system_error if it cannot be made, or for a reader if it is not there.
  explicit PositionFile(const std::filesystem::path& path);
  static PositionFile of_other(const std::filesystem::path& path);  // to be read
  ~PositionFile();
  PositionFile(PositionFile&& other) noexcept;
  PositionFile& operator=(PositionFile&&) = delete;

  void enter(std::string_view name, std::int64_t bytes, std::string_view detail = {});
  void leave();
  Position now() const;

  // True if the other has entered the call that this one is in, and it is another.
  bool differs_from(const PositionFile& other) const;

 private:
  struct Words;
  explicit PositionFile(Words* words) : words_(words) {}
  Words* words_;
};

// Nothing if there is no such file, or none of this kind.
std::optional<Position> read_position(const std::filesystem::path& path);

}  // namespace reprobench
