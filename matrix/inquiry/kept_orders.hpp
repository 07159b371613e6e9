// Orders of summation that a stack's worker has found, kept beside it: another comparison does not probe again. An
// answer belongs to one worker, call, knobs (threads, ISA) and CPU; whatever of these changes, the call is probed anew.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "matrix/contract/device/host_facts.hpp"
#include "matrix/contract/result.hpp"
#include "matrix/exec/executor.hpp"

namespace reprobench {

class KeptOrders {
 public:
  // For the request's stack, knobs, device and memory. If the worker has no folder for answers, or calls take tensors
  // of a user's file, nothing is kept.
  KeptOrders(const WorkerCommand& worker, const CellRequest& request, const HostFacts& host);

  // A file that is cut or edited, and is therefore left aside; empty: there is none.
  const std::string& problem() const { return problem_; }

  // Those of the request's calls that have to be probed, in their order.
  std::vector<std::string> missing(const std::vector<std::string>& calls) const;

  // `probed` with the kept answers to the other calls. If every call is kept, the answer is the kept one.
  CellResult with_kept(const CellResult* probed, const std::vector<std::string>& calls) const;

  // Adds what will be the same another time: orders that were replayed, or that cannot be read. Not a search that ran
  // out of time, and no order that its own result contradicts. If nothing can be written, the call is probed again.
  void keep(const CellResult& probed);

  static constexpr const char* kFileName = "orders.json";

 private:
  nlohmann::json results_on_disk(std::string& problem) const;

  std::filesystem::path file_;  // empty: nothing is kept
  std::string worker_;          // digest of the worker that answers
  std::string question_;        // digest of all but the call
  std::string problem_;
  CellResult kept_;  // its measurements are the calls
  bool has_kept_ = false;
};

// Whether this record of a call would be the same another time.
bool is_lasting(const ProbeMeasurement& measurement);

}  // namespace reprobench
