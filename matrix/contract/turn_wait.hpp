// How a worker waits for its turns (turns.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "matrix/contract/turns.hpp"

namespace reprobench {

class TurnWait {
 public:
  // `folder` is the rank's. The request must outlive it.
  TurnWait(const CellRequest& request, std::filesystem::path folder) : request_(request), folder_(std::move(folder)) {}

  // Whether the step belongs to a turn that has not been given yet, as far as was read. Never of a worker without
  // turns.
  bool must_wait(std::int64_t step) const { return request_.turn_steps > 0 && last_step_ < step; }

  // Returns once turns.jsonl allows the step, or once `is_stopped` says so; then `must_wait` still holds. Throws
  // ContractError if the file is not this rank's.
  void until_allowed(std::int64_t step, const std::function<bool()>& is_stopped);

  // All waits together.
  const TurnsWait& waited() const { return waited_; }

 private:
  void read_lines();

  const CellRequest& request_;
  std::filesystem::path folder_;
  std::ifstream file_;
  std::string line_;        // the part of it that is written so far
  std::int64_t lines_ = 0;  // read
  std::int64_t last_step_ = 0;
  TurnsWait waited_;
};

}  // namespace reprobench
