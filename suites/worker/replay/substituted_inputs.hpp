// Values that operator calls of one run made, kept for a replay of another run that is to use them in place of its own.
//
// Two runs diverge at a layer norm that one of them rounds differently. From there on every call takes other values,
// and nobody can say whether a GELU further on computes the same. Given the first run's values call by call, the second
// run's GELU takes the same inputs as the first run's, and its result is its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "matrix/contract/operator_record.hpp"
#include "matrix/contract/replay.hpp"

namespace at {
class Tensor;
}

namespace reprobench {

struct OperatorCall;

// Keeps values of one step by digest, until the step has ended. They take as many bytes as the one who asked for them
// counted.
class ValueKeeper {
 public:
  ValueKeeper(const KeptValues& asked, std::filesystem::path file);
  ~ValueKeeper();

  std::int64_t step() const { return step_; }

  // `record` is the call as it ended.
  void keep(const OperatorCall& call, const OperatorRecord& record);

  // Throws std::system_error where the file cannot be written.
  void write() const;

 private:
  std::int64_t step_;
  std::set<std::string> wanted_;
  std::filesystem::path file_;
  std::map<std::string, at::Tensor> kept_;
};

class ValueSubstitution {
 public:
  // Throws RunFailure "bad_request" for a file that is incomplete, or that holds a value under another's digest.
  explicit ValueSubstitution(const SubstitutedInputs& inputs);
  ~ValueSubstitution();

  std::int64_t step() const { return step_; }

  // Overwrites the outputs of a call by the values that it is to give, and returns the outputs it has overwritten. An
  // output stays as it was made if it is not in the file, has another type or shape, or if several of its elements
  // share memory.
  std::vector<at::Tensor> substitute(const OperatorCall& call, const OperatorRecord& record) const;

 private:
  std::int64_t step_;
  std::map<std::int64_t, std::vector<std::string>> digests_;  // by index of the call
  std::map<std::string, at::Tensor> values_;
};

}  // namespace reprobench
