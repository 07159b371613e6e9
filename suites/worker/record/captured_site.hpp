// A call whose tensors a replay is to write, while it and the subgraph of calls before it run.
#pragma once

#include <filesystem>
#include <memory>

#include "matrix/contract/replay.hpp"
#include "suites/worker/record/exact_subgraph.hpp"
#include "suites/worker/record/operator_capture.hpp"

namespace reprobench {

class CapturedSite {
 public:
  CapturedSite(const OperatorSite& site, std::filesystem::path path);

  const OperatorSite& site() const { return site_; }
  bool is_met() const { return is_met_; }

  void started(const OperatorCall& call, std::int64_t step, std::int64_t index);

  // Throws std::system_error where the file cannot be written.
  void ended(const OperatorCall& call, std::int64_t step, std::int64_t index);

 private:
  OperatorSite site_;
  std::filesystem::path path_;
  ExactSubgraph subgraph_;
  std::unique_ptr<OperatorCapture> running_;  // copies of the inputs, no longer than the call runs
  bool is_met_ = false;
};

}  // namespace reprobench
