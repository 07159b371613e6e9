// Why a run cannot go on, with the cause that result.json reports (WorkerFailure::cause).
#pragma once

#include <stdexcept>
#include <string>

namespace reprobench {

class RunFailure : public std::runtime_error {
 public:
  RunFailure(std::string cause, const std::string& detail) : std::runtime_error(detail), cause_(std::move(cause)) {}

  const std::string& cause() const { return cause_; }

 private:
  std::string cause_;
};

}  // namespace reprobench
