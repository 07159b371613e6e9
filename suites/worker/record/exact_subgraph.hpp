// A subgraph of operator calls carried out in fp64 beside the run, each call on the fp64 results of the calls before
// it. The result is what the subgraph is meant to compute from its inputs. Casts to another floating point type are
// left out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "suites/worker/record/operator_hook.hpp"

namespace reprobench {

class ExactSubgraph {
 public:
  // `calls` are indices within their step. With none of them it does nothing.
  explicit ExactSubgraph(std::vector<std::int64_t> calls);
  ~ExactSubgraph();

  void started(const OperatorCall& call, std::int64_t index);
  void ended(const OperatorCall& call, std::int64_t index);

  // The fp64 value of `tensor` as the subgraph computes it. Nothing if it is none of the subgraph's values, or if these
  // are not known.
  std::optional<at::Tensor> value_of(const at::Tensor& tensor) const;

  const std::string& problem() const { return problem_; }  // why it could not be carried out; empty: it could

 private:
  struct Values;

  std::vector<std::int64_t> calls_;
  std::unique_ptr<Values> values_;
  std::int64_t inside_ = -1;  // the call of the subgraph that runs; calls inside it belong to it
  std::string problem_;
};

}  // namespace reprobench
