// The files by which the ranks of one resident attempt learn of their turns and report their progress.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "matrix/base/file_descriptor.hpp"
#include "matrix/contract/request.hpp"

namespace reprobench {

class Resident {
 public:
  // Begins turns.jsonl in every rank's folder. Throws StoreError.
  Resident(const CellRequest& request, const std::filesystem::path& attempt_folder);

  // Allows every rank to do the steps of this block now. Blocks come in order. Throws StoreError.
  void give_turn(std::int64_t block);

  // Whether every rank has begun its trace, and so has loaded and waits.
  bool is_ready();

  // Whether every rank has recorded the last step of the latest turn.
  bool has_done_its_turn();

 private:
  struct RankFiles {
    std::filesystem::path turns;
    std::filesystem::path trace;
    FileDescriptor turns_file{};
    FileDescriptor trace_file{};
    std::string cut_line{};  // the end of the trace as last read
    bool has_header = false;
    std::int64_t last_step = 0;  // on record
  };

  void append(RankFiles& rank, const nlohmann::json& body);
  static void read_trace_growth(RankFiles& rank);

  CellRequest request_;
  std::vector<RankFiles> ranks_;
  std::int64_t lines_ = 0;       // in every turns.jsonl
  std::int64_t last_asked_ = 0;  // step
};

}  // namespace reprobench
