// A subgraph of operator calls carried out in fp64 beside the run, each call on what the ones before it made in fp64:
// what the subgraph is meant to make of the values that flow into it. Casts to another floating point type are left
// out.
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
  // By index within their step. None: it does nothing.
  explicit ExactSubgraph(std::vector<std::int64_t> calls);
  ~ExactSubgraph();

  void started(const OperatorCall& call, std::int64_t index);
  void ended(const OperatorCall& call, std::int64_t index);

  // `tensor` in fp64 as the subgraph makes it; nothing: it is none of its values, or they are not known.
  std::optional<at::Tensor> value_of(const at::Tensor& tensor) const;

  const std::string& problem() const { return problem_; }  // why it could not be carried out; empty: it could

 private:
  struct Values;

  std::vector<std::int64_t> calls_;
  std::unique_ptr<Values> values_;
  std::int64_t inside_ = -1;  // the call of the subgraph that runs: what it calls belongs to it
  std::string problem_;
};

}  // namespace reprobench
