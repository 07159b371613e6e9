// Values that operator calls of one run made, kept for a replay of another that is to go on with them.
//
// Two runs diverge at a layer norm that one of them rounds otherwise; from there on every call takes other values, and
// nobody can say whether a GELU further on computes the same. Given the first run's values call by call, it takes what
// that run's GELU took, and what it makes of them is its own.
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

// Values of one step by digest. Held until the step has ended: as many bytes as whoever asked for them counted.
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
  // Throws RunFailure "bad_request" for a file that is no whole one, or that holds a value under another's digest.
  explicit ValueSubstitution(const SubstitutedInputs& inputs);
  ~ValueSubstitution();

  std::int64_t step() const { return step_; }

  // Writes what the call is to give over what it made, and returns the outputs it has written. What is not in the file,
  // or is of another type or shape, stays as it was made; so does what several elements share the memory of.
  std::vector<at::Tensor> substitute(const OperatorCall& call, const OperatorRecord& record) const;

 private:
  std::int64_t step_;
  std::map<std::int64_t, std::vector<std::string>> digests_;  // by index of the call
  std::map<std::string, at::Tensor> values_;
};

}  // namespace reprobench
