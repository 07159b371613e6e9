// Why a run cannot go on, with the cause that result.json reports (WorkerFailure::cause).
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace reprobench {

class RunFailure : public std::runtime_error {
 public:
  RunFailure(std::string cause, const std::string& detail, std::optional<int> waited_for = std::nullopt,
             bool calls_differ = false)
      : std::runtime_error(detail), cause_(std::move(cause)), waited_for_(waited_for), calls_differ_(calls_differ) {}

  const std::string& cause() const { return cause_; }
  // For a collective that did not end: the rank that this one waited for.
  std::optional<int> waited_for() const { return waited_for_; }
  bool calls_differ() const { return calls_differ_; }  // whether that rank makes another call than the others

 private:
  std::string cause_;
  std::optional<int> waited_for_;
  bool calls_differ_;
};

}  // namespace reprobench
