// Calls that are known as sources from the first difference. At a later step they are captured again, each side on its
// own inputs. Within its bound such a call is still the known source; beyond it, it is a new one.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "matrix/contract/replay.hpp"
#include "matrix/inquiry/comparison_document.hpp"
#include "matrix/numerics/calls/step_divergence.hpp"

namespace reprobench {

class KnownCalls {
 public:
  explicit KnownCalls(const Explanation& first);

  bool knows(const DivergencePoint& source) const;

  // The calls that the two replays of that step have to capture.
  void ask(std::int64_t step, Replay& measured, Replay& expected) const;

  struct Left {
    const CellRequest& request;
    const std::filesystem::path& folder;
    const std::vector<OperatorRecord>& calls;
  };
  // The known calls that are beyond their own bound on either side, or do not add in that side's own order.
  std::vector<FurtherSource> beyond_bound(const Left& measured, const Left& expected) const;

 private:
  std::set<std::string> names_;
  std::vector<OperatorDivergence> captured_;
};

}  // namespace reprobench
