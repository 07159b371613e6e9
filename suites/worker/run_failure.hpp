// Why a run cannot go on, with the cause that result.json reports (WorkerFailure::cause).
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace reprobench {

class RunFailure : public std::runtime_error {
 public:
  RunFailure(std::string cause, const std::string& detail, std::optional<int> waited_for = std::nullopt)
      : std::runtime_error(detail), cause_(std::move(cause)), waited_for_(waited_for) {}

  const std::string& cause() const { return cause_; }
  // Of a collective that did not end: the rank that this one waited for.
  std::optional<int> waited_for() const { return waited_for_; }

 private:
  std::string cause_;
  std::optional<int> waited_for_;
};

}  // namespace reprobench
