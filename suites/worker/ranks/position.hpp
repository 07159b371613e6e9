// Where a rank is in the sequence of collectives, for the others to read. When a collective does not end, the positions
// tell which rank is missing; when ranks call different ones, which rank is alone with its call. The file is mapped, so
// entering and leaving cost a few stores and no system call, and the last position of a killed or stopped process
// stays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprobench {

// The properties of a call that must be the same on all ranks.
struct CollectiveCall {
  std::string name = {};
  std::int64_t bytes = 0;
  std::string detail = {};  // the type of its tensors, "fp32"; for a meeting the place

  bool operator==(const CollectiveCall&) const = default;
  std::string text() const;  // "all_reduce of 4096 bytes (fp32)"
};

struct Position {
  std::int64_t entered = 0;  // number of the call that was entered last, from 1
  std::int64_t left = 0;
  std::vector<CollectiveCall> recent = {};  // the latest calls; the last one is that of `entered`

  const CollectiveCall* call(std::int64_t number) const;  // null if it was not entered, or is long past
  std::string text() const;                               // "call 37, all_reduce of 4096 bytes (fp32)"
};

class PositionFile {
 public:
  // Makes the file. Throws std::system_error if it cannot be made; of_other() throws it if the file is not there.
  explicit PositionFile(const std::filesystem::path& path);
  static PositionFile of_other(const std::filesystem::path& path);  // to be read
  ~PositionFile();
  PositionFile(PositionFile&& other) noexcept;
  PositionFile& operator=(PositionFile&&) = delete;

  void enter(std::string_view name, std::int64_t bytes, std::string_view detail = {});
  void leave();
  Position now() const;

  // True if the other has entered a call of the same number as this one's, and it is a different call.
  bool differs_from(const PositionFile& other) const;

 private:
  struct Words;
  explicit PositionFile(Words* words) : words_(words) {}
  Words* words_;
};

// Nothing if there is no such file, or none of this kind.
std::optional<Position> read_position(const std::filesystem::path& path);

}  // namespace reprobench
