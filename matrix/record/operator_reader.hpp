// operators.jsonl of one replay as values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"

namespace reprobench {

struct OperatorCalls {
  std::map<std::int64_t, std::vector<OperatorRecord>> steps;  // in the order the calls ended
  std::string problem;                                        // empty: every line is complete and correct

  std::vector<OperatorRecord> of_step(std::int64_t step) const {
    const auto found = steps.find(step);
    return found == steps.end() ? std::vector<OperatorRecord>{} : found->second;
  }
};

// Never throws because of the file's content: `problem` says what is wrong, and everything before it is kept.
OperatorCalls read_operator_calls(const std::filesystem::path& path);

}  // namespace reprobench
