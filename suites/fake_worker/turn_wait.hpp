// How a resident worker waits for its turns (contract/turns.hpp), and how ranks that do nothing wait for each other.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "matrix/contract/turns.hpp"

namespace reprobench {

class TurnWait {
 public:
  TurnWait(const CellRequest& request, const std::filesystem::path& folder) : request_(request), folder_(folder) {}

  // Returns once turns.jsonl allows the step. Throws ContractError if the file is not this rank's.
  void until_allowed(std::int64_t step);

 private:
  const CellRequest& request_;
  std::filesystem::path folder_;
  std::ifstream file_;
  std::string line_;        // the part of it that is written so far
  std::int64_t lines_ = 0;  // read
  std::int64_t last_step_ = 0;
};

// A made-up all-reduce: returns once every rank of the attempt has come to this step.
void wait_for_ranks(const CellRequest& request, const std::filesystem::path& folder, std::int64_t step);

}  // namespace reprobench
